// franz-go: a strict client in Go. Idempotent production with each codec, fetch sessions over several partitions, reading
// by partition, and its admin client. franz BOOTSTRAP PREFIX; prints ok and not ok lines.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	records    = 5000
	partitions = 3
	limit      = 25 * time.Second
)

var failed bool

func verdict(ok bool, format string, arguments ...any) {
	word := "ok"
	if !ok {
		word, failed = "not ok", true
	}
	fmt.Printf("%s - franz: %s\n", word, fmt.Sprintf(format, arguments...))
}

func value(i int) []byte { return bytes.Repeat([]byte{byte(i)}, i%400) }

func produce(ctx context.Context, bootstrap, topic, name string, codec kgo.CompressionCodec) {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ProducerBatchCompression(codec),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(100_000))
	if err != nil {
		verdict(false, "make a producer: %v", err)
		return
	}
	defer client.Close()
	var batch []*kgo.Record
	for i := range records {
		batch = append(batch, &kgo.Record{Topic: topic, Partition: int32(i % partitions), Key: fmt.Appendf(nil, "key %d", i),
			Value: value(i), Headers: []kgo.RecordHeader{{Key: "n", Value: fmt.Append(nil, i)}}})
	}
	results := client.ProduceSync(ctx, batch...)
	inOrder := true
	next := make([]int64, partitions)
	for _, r := range batch {
		inOrder = inOrder && r.Offset == next[r.Partition]
		next[r.Partition]++
	}
	verdict(results.FirstErr() == nil && inOrder, "produce %d records with %s (%v)", records, name, results.FirstErr())
}

func consume(ctx context.Context, bootstrap, topic, name string) {
	from := map[int32]kgo.Offset{}
	for p := range int32(partitions) {
		from[p] = kgo.NewOffset().AtStart()
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}),
		kgo.FetchMaxBytes(200_000), kgo.FetchMaxPartitionBytes(50_000))
	if err != nil {
		verdict(false, "make a consumer: %v", err)
		return
	}
	defer client.Close()
	count, same := 0, true
	next := make([]int64, partitions)
	for count < records {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			verdict(false, "fetch with %s after %d records: %v", name, count, err)
			return
		}
		fetches.EachRecord(func(r *kgo.Record) {
			i := int(r.Offset)*partitions + int(r.Partition)
			same = same && r.Offset == next[r.Partition] && string(r.Key) == fmt.Sprintf("key %d", i) && bytes.Equal(r.Value, value(i)) &&
				len(r.Headers) == 1 && string(r.Headers[0].Value) == fmt.Sprint(i)
			next[r.Partition]++
			count++
		})
	}
	verdict(same && count == records, "equal records in equal order with %s", name)
}

func admin(ctx context.Context, bootstrap, prefix string) {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	if err != nil {
		verdict(false, "make an admin client: %v", err)
		return
	}
	defer client.Close()
	adm := kadm.NewClient(client)
	topic := prefix + "-admin"
	retention := "3600000"
	made, err := adm.CreateTopic(ctx, 2, 1, map[string]*string{"retention.ms": &retention}, topic)
	verdict(err == nil && made.ID != kadm.TopicID{}, "create a topic (%v)", err)
	_, err = adm.CreateTopic(ctx, 2, 1, nil, topic)
	verdict(errors.Is(err, kerr.TopicAlreadyExists), "create it only once (%v)", err)
	configs, err := adm.DescribeTopicConfigs(ctx, topic)
	kept := false
	if err == nil {
		for _, config := range configs[0].Configs {
			kept = kept || config.Key == "retention.ms" && config.MaybeValue() == retention
		}
	}
	verdict(kept, "describe its settings (%v)", err)
	updated, err := adm.UpdatePartitions(ctx, 4, topic)
	verdict(err == nil && updated.Error() == nil, "add partitions (%v)", err)
	give := time.Now().Add(limit)
	count := 0
	for count != 4 && time.Now().Before(give) {
		details, err := adm.ListTopics(ctx, topic)
		if err == nil {
			count = len(details[topic].Partitions)
		}
	}
	verdict(count == 4, "see the added partitions")
	deleted, err := adm.DeleteTopics(ctx, topic)
	verdict(err == nil && deleted.Error() == nil, "delete a topic (%v)", err)
	deleted, _ = adm.DeleteTopics(ctx, topic)
	verdict(errors.Is(deleted.Error(), kerr.UnknownTopicOrPartition), "delete it only once (%v)", deleted.Error())

	ends, err := adm.ListEndOffsets(ctx, prefix+"-zstd")
	sum := int64(0)
	ends.Each(func(o kadm.ListedOffset) { sum += o.Offset })
	verdict(err == nil && sum == records, "end offsets add up to what was sent (%v)", err)
}

func main() {
	if os.Args[1] == "member" {
		member(os.Args[2:])
		return
	}
	bootstrap, prefix := os.Args[1], os.Args[2]
	codecs := []struct {
		name  string
		codec kgo.CompressionCodec
	}{{"none", kgo.NoCompression()}, {"gzip", kgo.GzipCompression()}, {"snappy", kgo.SnappyCompression()},
		{"lz4", kgo.Lz4Compression()}, {"zstd", kgo.ZstdCompression()}}
	ctx, cancel := context.WithTimeout(context.Background(), 4*limit)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	if err != nil {
		verdict(false, "connect: %v", err)
		os.Exit(1)
	}
	adm := kadm.NewClient(client)
	for _, c := range codecs {
		topic := prefix + "-" + c.name
		if _, err := adm.CreateTopic(ctx, partitions, 1, nil, topic); err != nil {
			verdict(false, "create %s: %v", topic, err)
			continue
		}
		produce(ctx, bootstrap, topic, c.name, c.codec)
		consume(ctx, bootstrap, topic, c.name)
	}
	client.Close()
	admin(ctx, bootstrap, prefix)
	administer(ctx, bootstrap, prefix)
	if failed {
		os.Exit(1)
	}
}
