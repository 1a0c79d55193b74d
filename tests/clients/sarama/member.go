// A member of a group by sarama, that says what it owns and reads (groups/judge.py has the lines; sarama does not tell which
// commits were acknowledged). sarama member BOOTSTRAP GROUP TOPIC [NAME=VALUE...]: assignor, instance, session_ms.
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

	"github.com/IBM/sarama"
)

const commitEvery = 200 * time.Millisecond

func say(format string, arguments ...any) {
	fmt.Printf("%d %s\n", time.Now().UnixMilli(), fmt.Sprintf(format, arguments...))
}

func names(claims map[string][]int32) string {
	var all []string
	for topic, partitions := range claims {
		for _, p := range partitions {
			all = append(all, fmt.Sprintf("%s:%d", topic, p))
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

type groupMember struct{}

func (groupMember) Setup(session sarama.ConsumerGroupSession) error {
	if text := names(session.Claims()); text != "" {
		say("assigned %s", text)
	}
	return nil
}

func (groupMember) Cleanup(session sarama.ConsumerGroupSession) error {
	session.Commit()
	if text := names(session.Claims()); text != "" {
		say("revoked %s", text)
	}
	return nil
}

func (groupMember) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	tick := time.NewTicker(commitEvery)
	defer tick.Stop()
	first, last := int64(-1), int64(-2)
	flush := func() {
		if first >= 0 {
			say("read %s:%d %d %d", claim.Topic(), claim.Partition(), first, last)
			session.MarkOffset(claim.Topic(), claim.Partition(), last+1, "")
		}
		first, last = -1, -2
	}
	defer flush()
	for {
		select {
		case message, more := <-claim.Messages():
			if !more {
				return nil
			}
			if message.Offset != last+1 {
				flush()
				first = message.Offset
			}
			last = message.Offset
		case <-tick.C:
			flush()
			session.Commit()
		case <-session.Context().Done():
			return nil
		}
	}
}

func member(arguments []string) {
	bootstrap, group, topic := arguments[0], arguments[1], arguments[2]
	words := map[string]string{"assignor": "range", "session_ms": "6000"}
	for _, word := range arguments[3:] {
		name, value, _ := strings.Cut(word, "=")
		words[name] = value
	}
	session, _ := strconv.Atoi(words["session_ms"])
	strategies := map[string]sarama.BalanceStrategy{"range": sarama.NewBalanceStrategyRange(), "roundrobin": sarama.NewBalanceStrategyRoundRobin(),
		"sticky": sarama.NewBalanceStrategySticky()}
	settings := config()
	settings.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategies[words["assignor"]]}
	settings.Consumer.Group.Session.Timeout = time.Duration(session) * time.Millisecond
	settings.Consumer.Group.Heartbeat.Interval = 500 * time.Millisecond
	settings.Consumer.Group.InstanceId = words["instance"]
	settings.Consumer.Offsets.Initial = sarama.OffsetOldest
	settings.Consumer.Offsets.AutoCommit.Enable = false
	settings.Consumer.MaxWaitTime = 100 * time.Millisecond
	settings.Metadata.RefreshFrequency = time.Second
	client, err := sarama.NewConsumerGroup([]string{bootstrap}, group, settings)
	if err != nil {
		say("note %v", err)
		os.Exit(1)
	}
	stop, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	go func() {
		for range time.Tick(time.Second) {
			say("note alive")
		}
	}()
	for stop.Err() == nil { // one turn for each generation of the group
		if err := client.Consume(stop, []string{topic}, groupMember{}); err != nil {
			say("note %v", err)
		}
	}
	_ = client.Close()
	say("note closed")
}
