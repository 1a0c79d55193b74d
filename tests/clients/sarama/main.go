// sarama: an idempotent producer with each codec, a consumer by partition, and its admin client. sarama BOOTSTRAP PREFIX;
// prints ok and not ok lines.
package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/IBM/sarama"
)

const (
	records = 500
	limit   = 25 * time.Second
)

var failed = false

func verdict(ok bool, format string, args ...any) {
	word := "ok"
	if !ok {
		word, failed = "not ok", true
	}
	fmt.Printf("%s - sarama: %s\n", word, fmt.Sprintf(format, args...))
}

func config() *sarama.Config {
	settings := sarama.NewConfig()
	settings.Version = sarama.MaxVersion
	settings.ClientID = "sarama-check"
	settings.Producer.Return.Successes = true
	settings.Net.MaxOpenRequests = 1
	settings.Producer.Idempotent = true
	settings.Producer.RequiredAcks = sarama.WaitForAll
	return settings
}

func text(i int) string { return fmt.Sprintf("record %d of sarama", i) }

func roundTrip(bootstrap, topic, name string, codec sarama.CompressionCodec) {
	settings := config()
	settings.Producer.Compression = codec
	producer, err := sarama.NewSyncProducer([]string{bootstrap}, settings)
	if err != nil {
		verdict(false, "make a producer: %v", err)
		return
	}
	var messages []*sarama.ProducerMessage
	for i := range records {
		messages = append(messages, &sarama.ProducerMessage{Topic: topic, Key: sarama.StringEncoder(fmt.Sprint(i)), Value: sarama.StringEncoder(text(i)),
			Headers: []sarama.RecordHeader{{Key: []byte("h"), Value: []byte(name)}}, Partition: 0})
	}
	err = producer.SendMessages(messages)
	verdict(err == nil, "produce with %s (%v)", name, err)
	_ = producer.Close()

	consumer, err := sarama.NewConsumer([]string{bootstrap}, config())
	if err != nil {
		verdict(false, "make a consumer: %v", err)
		return
	}
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(topic, 0, sarama.OffsetOldest)
	if err != nil {
		verdict(false, "consume: %v", err)
		return
	}
	defer partition.Close()
	same, count := true, 0
	for give := time.After(limit); count < records; count++ {
		select {
		case message := <-partition.Messages():
			same = same && message.Offset == int64(count) && string(message.Value) == text(count) && len(message.Headers) == 1
		case <-give:
			verdict(false, "read %d of %d records with %s", count, records, name)
			return
		}
	}
	verdict(same, "equal records in equal order with %s", name)
}

// A broker may hear of a change a little after the controller has answered.
func eventually(holds func() bool) bool {
	for give := time.Now().Add(limit); time.Now().Before(give); time.Sleep(20 * time.Millisecond) {
		if holds() {
			return true
		}
	}
	return false
}

func valueOf(admin sarama.ClusterAdmin, kind sarama.ConfigResourceType, name, key string) string {
	entries, err := admin.DescribeConfig(sarama.ConfigResource{Type: kind, Name: name, ConfigNames: []string{key}})
	if err != nil || len(entries) != 1 {
		return fmt.Sprintf("%v %v", entries, err)
	}
	return entries[0].Value
}

func administer(bootstrap, prefix string) {
	admin, err := sarama.NewClusterAdmin([]string{bootstrap}, config())
	if err != nil {
		verdict(false, "make an admin client: %v", err)
		return
	}
	defer admin.Close()
	topic, full := prefix+"-none", prefix+"-admin"
	brokers, controller, err := admin.DescribeCluster()
	verdict(err == nil && len(brokers) == 1 && controller == brokers[0].ID(), "describe the cluster (%v)", err)
	detail := &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 1}
	verdict(admin.CreateTopic(full, detail, false) == nil, "create a topic")
	err = admin.CreateTopic(full, detail, false)
	verdict(errors.Is(err, sarama.ErrTopicAlreadyExists), "create it only once (%v)", err)
	verdict(admin.CreatePartitions(full, 4, nil, false) == nil, "add partitions")

	soon := "60000"
	err = admin.IncrementalAlterConfig(sarama.TopicResource, full,
		map[string]sarama.IncrementalAlterConfigsEntry{"retention.ms": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &soon}}, false)
	has := func(key, value string) func() bool {
		return func() bool { return valueOf(admin, sarama.TopicResource, full, key) == value }
	}
	verdict(err == nil && eventually(has("retention.ms", soon)), "alter a setting (%v)", err)
	small := "5000"
	err = admin.AlterConfig(sarama.TopicResource, full, map[string]*string{"max.message.bytes": &small}, false)
	verdict(err == nil && eventually(has("max.message.bytes", small)) && !has("retention.ms", soon)(), "replace all settings (%v)", err)

	dirs, err := admin.DescribeLogDirs([]int32{controller})
	verdict(err == nil && len(dirs[controller]) == 1 && len(dirs[controller][0].Topics) > 1, "describe log directories (%v)", err)
	verdict(admin.DeleteRecords(topic, map[int32]int64{0: 10}) == nil, "delete records")
	offsets, err := admin.ListOffsets(map[string]map[int32]int64{topic: {0: sarama.OffsetOldest}}, nil)
	verdict(err == nil && offsets[topic][0].Offset == 10, "list offsets (%v)", err)

	moves, err := admin.ListPartitionReassignments(full, []int32{0, 1})
	verdict(err == nil && len(moves) == 0, "no reassignment is listed (%v)", err)
	elected, err := admin.ElectLeaders(sarama.PreferredElection, map[string][]int32{full: {0}})
	verdict(err == nil && errors.Is(elected[full][0].ErrorCode, sarama.ErrElectionNotNeeded), "no election is needed (%v)", err)

	user := []sarama.QuotaEntityComponent{{EntityType: sarama.QuotaEntityUser, MatchType: sarama.QuotaMatchExact, Name: prefix}}
	set := sarama.ClientQuotasOp{Key: "consumer_byte_rate", Value: 1000000}
	err = admin.AlterClientQuotas(user, set, false)
	filter := []sarama.QuotaFilterComponent{{EntityType: sarama.QuotaEntityUser, MatchType: sarama.QuotaMatchExact, Match: prefix}}
	count := func(expected int) bool {
		return eventually(func() bool {
			quotas, err := admin.DescribeClientQuotas(filter, false)
			return err == nil && len(quotas) == expected
		})
	}
	verdict(err == nil && count(1), "set a quota (%v)", err)
	set.Remove = true
	err = admin.AlterClientQuotas(user, set, false)
	verdict(err == nil && count(0), "remove it (%v)", err)
	verdict(admin.DeleteTopic(full) == nil, "delete a topic")
}

func main() {
	if os.Args[1] == "member" {
		member(os.Args[2:])
		return
	}
	bootstrap, prefix := os.Args[1], os.Args[2]
	admin, err := sarama.NewClusterAdmin([]string{bootstrap}, config())
	if err != nil {
		verdict(false, "connect: %v", err)
		os.Exit(1)
	}
	for name, codec := range map[string]sarama.CompressionCodec{"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP,
		"snappy": sarama.CompressionSnappy, "lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD} {
		topic := prefix + "-" + name
		if err := admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false); err != nil {
			verdict(false, "create %s: %v", topic, err)
			continue
		}
		roundTrip(bootstrap, topic, name, codec)
	}
	_ = admin.Close()
	administer(bootstrap, prefix)
	if failed {
		os.Exit(1)
	}
}
