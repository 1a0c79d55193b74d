// A member of a group by franz-go, that says what it owns, reads and commits (groups/judge.py has the lines).
// franz member BOOTSTRAP GROUP TOPIC [NAME=VALUE...]: assignor, protocol=consumer, instance, session_ms; a TOPIC that begins
// with ^ is a pattern.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const commitEvery = 200 * time.Millisecond

func say(format string, arguments ...any) {
	fmt.Printf("%d %s\n", time.Now().UnixMilli(), fmt.Sprintf(format, arguments...))
}

func names(partitions map[string][]int32) string {
	var all []string
	for topic, numbers := range partitions {
		for _, p := range numbers {
			all = append(all, fmt.Sprintf("%s:%d", topic, p))
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// The offsets that are to be committed, of `which` or, when that is nil, of all partitions.
type positions map[string]map[int32]kgo.EpochOffset

func (next positions) take(which map[string][]int32) positions {
	taken := positions{}
	for topic, offsets := range next {
		for p, offset := range offsets {
			if which != nil && !slices.Contains(which[topic], p) {
				continue
			}
			if taken[topic] == nil {
				taken[topic] = map[int32]kgo.EpochOffset{}
			}
			taken[topic][p] = offset
			delete(offsets, p)
		}
	}
	return taken
}

func commit(ctx context.Context, client *kgo.Client, offsets positions) {
	if len(offsets) == 0 {
		return
	}
	client.CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, response *kmsg.OffsetCommitResponse, err error) {
		if err == nil {
			err = refusal(response)
		}
		if err != nil { // a rebalance comes first; what was not committed is read again
			say("note not committed: %v", err)
			return
		}
		for topic, partitions := range offsets {
			for p, offset := range partitions {
				say("committed %s:%d %d", topic, p, offset.Offset)
			}
		}
	})
}

// The first error of a partition.
func refusal(response *kmsg.OffsetCommitResponse) error {
	for _, topic := range response.Topics {
		for _, p := range topic.Partitions {
			if p.ErrorCode != 0 {
				return fmt.Errorf("partition %d: %w", p.Partition, kerr.ErrorForCode(p.ErrorCode))
			}
		}
	}
	return nil
}

func member(arguments []string) {
	bootstrap, group, topic := arguments[0], arguments[1], arguments[2]
	settings := map[string]string{"assignor": "range", "session_ms": "6000"}
	for _, word := range arguments[3:] {
		name, value, _ := strings.Cut(word, "=")
		settings[name] = value
	}
	session, _ := strconv.Atoi(settings["session_ms"])
	balancers := map[string]kgo.GroupBalancer{"range": kgo.RangeBalancer(), "roundrobin": kgo.RoundRobinBalancer(), "sticky": kgo.StickyBalancer(),
		"cooperative-sticky": kgo.CooperativeStickyBalancer()}
	ctx := context.Background()
	next := positions{}
	options := []kgo.Opt{kgo.SeedBrokers(bootstrap), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.Balancers(balancers[settings["assignor"]]), kgo.BlockRebalanceOnPoll(),
		kgo.SessionTimeout(time.Duration(session) * time.Millisecond), kgo.HeartbeatInterval(500 * time.Millisecond),
		kgo.MetadataMaxAge(time.Second), kgo.MetadataMinAge(200 * time.Millisecond), kgo.FetchMaxWait(100 * time.Millisecond),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			if text := names(partitions); text != "" {
				say("assigned %s", text)
			}
		}),
		kgo.OnPartitionsRevoked(func(ctx context.Context, client *kgo.Client, partitions map[string][]int32) {
			commit(ctx, client, next.take(partitions))
			if text := names(partitions); text != "" {
				say("revoked %s", text)
			}
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			next.take(partitions)
			if text := names(partitions); text != "" {
				say("lost %s", text)
			}
		})}
	if strings.HasPrefix(topic, "^") {
		options = append(options, kgo.ConsumeRegex())
	}
	if settings["protocol"] == "consumer" {
		options = append(options, kgo.ServerSideBalancer())
	}
	if settings["instance"] != "" {
		options = append(options, kgo.InstanceID(settings["instance"]))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		say("note %v", err)
		os.Exit(1)
	}
	stop, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	committed, alive := time.Now(), time.Now()
	for stop.Err() == nil {
		if time.Since(alive) > time.Second {
			alive = time.Now()
			say("note alive")
		}
		poll, cancel := context.WithTimeout(stop, 100*time.Millisecond)
		fetches := client.PollFetches(poll)
		cancel()
		fetches.EachPartition(func(p kgo.FetchTopicPartition) { remember(p, next) })
		if time.Since(committed) > commitEvery {
			committed = time.Now()
			commit(ctx, client, next.take(nil))
		}
		client.AllowRebalance()
	}
	commit(ctx, client, next.take(nil))
	client.CloseAllowingRebalance()
	say("note closed")
}

func remember(p kgo.FetchTopicPartition, next positions) {
	if len(p.Records) == 0 {
		return
	}
	first, last := p.Records[0].Offset, p.Records[0].Offset-1
	for _, r := range p.Records {
		if r.Offset != last+1 {
			say("read %s:%d %d %d", p.Topic, p.Partition, first, last)
			first = r.Offset
		}
		last = r.Offset
	}
	say("read %s:%d %d %d", p.Topic, p.Partition, first, last)
	if next[p.Topic] == nil {
		next[p.Topic] = map[int32]kgo.EpochOffset{}
	}
	next[p.Topic][p.Partition] = kgo.EpochOffset{Epoch: -1, Offset: last + 1}
}
