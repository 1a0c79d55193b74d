// What an administrator does with kadm beyond topics: settings, log directories, records, replicas, quotas, producers.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func valueOf(configs kadm.ResourceConfigs, key string) string {
	if len(configs) != 1 {
		return ""
	}
	for _, config := range configs[0].Configs {
		if config.Key == key {
			return config.MaybeValue()
		}
	}
	return ""
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

func settings(ctx context.Context, adm *kadm.Client, topic string) {
	set := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: kadm.StringPtr("7200000")},
		{Op: kadm.AppendConfig, Name: "cleanup.policy", Value: kadm.StringPtr("compact")}}
	altered, err := adm.AlterTopicConfigs(ctx, set, topic)
	verdict(err == nil && len(altered) == 1 && altered[0].Err == nil, "alter settings of a topic (%v)", err)
	topicHas := func(retention bool, policy string) bool {
		return eventually(func() bool {
			configs, err := adm.DescribeTopicConfigs(ctx, topic)
			return err == nil && (valueOf(configs, "retention.ms") == "7200000") == retention && valueOf(configs, "cleanup.policy") == policy
		})
	}
	verdict(topicHas(true, "delete,compact"), "read them")
	unset := []kadm.AlterConfig{{Op: kadm.DeleteConfig, Name: "retention.ms"},
		{Op: kadm.SubtractConfig, Name: "cleanup.policy", Value: kadm.StringPtr("compact")}}
	_, err = adm.AlterTopicConfigs(ctx, unset, topic)
	verdict(err == nil && topicHas(false, "delete"), "take them back (%v)", err)
	wrong, err := adm.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms",
		Value: kadm.StringPtr("soon")}}, topic)
	verdict(err == nil && len(wrong) == 1 && errors.Is(wrong[0].Err, kerr.InvalidConfig), "a wrong value is refused (%v)", err)
	meta, err := adm.BrokerMetadata(ctx)
	if err != nil {
		verdict(false, "find the broker: %v", err)
		return
	}
	node := meta.Controller
	brokerHas := func(size string) bool {
		return eventually(func() bool {
			configs, err := adm.DescribeBrokerConfigs(ctx, node)
			return err == nil && valueOf(configs, "message.max.bytes") == size
		})
	}
	_, err = adm.AlterBrokerConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "message.max.bytes",
		Value: kadm.StringPtr("2000000")}}, node)
	verdict(err == nil && brokerHas("2000000"), "alter a setting of the broker (%v)", err)
	_, err = adm.AlterBrokerConfigs(ctx, []kadm.AlterConfig{{Op: kadm.DeleteConfig, Name: "message.max.bytes"}}, node)
	verdict(err == nil && brokerHas("1048588"), "take it back (%v)", err)
}

func quotas(ctx context.Context, adm *kadm.Client, user string) {
	entity := kadm.ClientQuotaEntity{{Type: "user", Name: &user}}
	alter := func(remove bool) bool {
		done, err := adm.AlterClientQuotas(ctx, []kadm.AlterClientQuotaEntry{{Entity: entity,
			Ops: []kadm.AlterClientQuotaOp{{Key: "producer_byte_rate", Value: 1e6, Remove: remove}}}})
		return err == nil && len(done) == 1 && done[0].Err == nil
	}
	find := func() kadm.DescribedClientQuotas {
		found, _ := adm.DescribeClientQuotas(ctx, true, []kadm.DescribeClientQuotaComponent{{Type: "user", MatchName: &user}})
		return found
	}
	verdict(alter(false), "set a quota")
	verdict(eventually(func() bool {
		found := find()
		return len(found) == 1 && len(found[0].Values) == 1 && found[0].Values[0].Value == 1e6
	}), "read it")
	verdict(alter(true) && eventually(func() bool { return len(find()) == 0 }), "remove it")
}

func administer(ctx context.Context, bootstrap, prefix string) {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	if err != nil {
		verdict(false, "make an admin client: %v", err)
		return
	}
	defer client.Close()
	adm := kadm.NewClient(client)
	topic := prefix + "-none"
	var set kadm.TopicsSet
	set.Add(topic, 0)

	settings(ctx, adm, topic)
	quotas(ctx, adm, prefix)

	dirs, err := adm.DescribeAllLogDirs(ctx, nil)
	size, free := int64(0), int64(0)
	dirs.Each(func(dir kadm.DescribedLogDir) {
		free += dir.UsableBytes
		for _, partition := range dir.Topics[topic] {
			size += partition.Size
		}
	})
	verdict(err == nil && size > records && free > 0, "log directories have the topic's bytes (%v: %d)", err, size)

	producers, err := adm.DescribeProducers(ctx, set)
	verdict(err == nil && len(producers[topic].Partitions[0].ActiveProducers) > 0, "describe the producers of a partition (%v)", err)

	moves, err := adm.ListPartitionReassignments(ctx, nil)
	verdict(err == nil && len(moves) == 0, "no reassignment is listed (%v)", err)
	elected, err := adm.ElectLeaders(ctx, kadm.ElectPreferredReplica, set)
	verdict(err == nil && errors.Is(elected[topic][0].Err, kerr.ElectionNotNeeded), "no election is needed (%v)", err)

	ends, err := adm.ListEndOffsets(ctx, topic)
	end, _ := ends.Lookup(topic, 0)
	var cut kadm.Offsets
	cut.Add(kadm.Offset{Topic: topic, Partition: 0, At: end.Offset - 1})
	gone, cutErr := adm.DeleteRecords(ctx, cut)
	starts, _ := adm.ListStartOffsets(ctx, topic)
	start, _ := starts.Lookup(topic, 0)
	verdict(err == nil && cutErr == nil && gone.Error() == nil && start.Offset == end.Offset-1, "delete records (%v, %v)", err, cutErr)
	at, err := adm.ListOffsetsAfterMilli(ctx, time.Now().Add(-time.Hour).UnixMilli(), topic)
	after, _ := at.Lookup(topic, 0)
	verdict(err == nil && after.Offset == start.Offset, "find an offset by time (%v: %d)", err, after.Offset)
}
