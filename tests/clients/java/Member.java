// A member of a group by kafka-clients, that says what it owns, reads and commits (groups/judge.py has the lines).
// Member BOOTSTRAP GROUP TOPIC [NAME=VALUE...]: protocol (classic, consumer), assignor, instance, session_ms; a TOPIC that
// begins with ^ is a pattern. Compiled with each version of Kafka; what only 4.x has is found by its name.
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

public class Member implements ConsumerRebalanceListener {
  static final String ASSIGNORS = "org.apache.kafka.clients.consumer.";
  static final Map<String, String> CLASSES = Map.of("range", ASSIGNORS + "RangeAssignor", "roundrobin",
      ASSIGNORS + "RoundRobinAssignor", "sticky", ASSIGNORS + "StickyAssignor", "cooperative-sticky",
      ASSIGNORS + "CooperativeStickyAssignor");
  static final long COMMIT_EVERY_NS = 200_000_000L;
  static volatile boolean stopping = false;

  final KafkaConsumer<byte[], byte[]> consumer;
  final Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();  // what is to be committed

  static void say(String what) {
    System.out.println(System.currentTimeMillis() + " " + what);
  }

  static String name(TopicPartition partition) {
    return partition.topic() + ":" + partition.partition();
  }

  static String names(Collection<TopicPartition> partitions) {
    return partitions.stream().map(Member::name).sorted().collect(Collectors.joining(" "));
  }

  Member(String bootstrap, String group, Map<String, String> wishes) {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", bootstrap);
    settings.put("group.id", group);
    settings.put("enable.auto.commit", "false");
    settings.put("auto.offset.reset", "earliest");
    settings.put("metadata.max.age.ms", "1000");
    settings.put("fetch.max.wait.ms", "100");
    String protocol = wishes.getOrDefault("protocol", "classic");
    if (wishes.containsKey("instance")) settings.put("group.instance.id", wishes.get("instance"));
    if (protocol.equals("classic")) {
      settings.put("session.timeout.ms", wishes.getOrDefault("session_ms", "6000"));
      settings.put("heartbeat.interval.ms", "500");
      settings.put("partition.assignment.strategy", CLASSES.get(wishes.getOrDefault("assignor", "range")));
    } else {
      settings.put("group.protocol", protocol);
      if (wishes.containsKey("assignor")) settings.put("group.remote.assignor", wishes.get("assignor"));
    }
    consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  @Override
  public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
    if (!partitions.isEmpty()) say("assigned " + names(partitions));
  }

  @Override
  public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
    commit(partitions);
    if (!partitions.isEmpty()) say("revoked " + names(partitions));
  }

  @Override
  public void onPartitionsLost(Collection<TopicPartition> partitions) {
    next.keySet().removeAll(partitions);
    if (!partitions.isEmpty()) say("lost " + names(partitions));
  }

  void commit(Collection<TopicPartition> which) {
    Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>(next);
    offsets.keySet().retainAll(which);
    next.keySet().removeAll(offsets.keySet());
    if (offsets.isEmpty()) return;
    try {
      consumer.commitSync(offsets, Duration.ofSeconds(20));
      offsets.forEach((partition, offset) -> say("committed " + name(partition) + " " + offset.offset()));
    } catch (KafkaException error) {  // a rebalance comes first; what was not committed is read again
      say("note not committed: " + error);
    }
  }

  void subscribe(String topic) throws Exception {
    try {
      if (!topic.startsWith("^")) {
        consumer.subscribe(List.of(topic), this);
      } else if (consumerProtocol) {
        Class<?> pattern = Class.forName("org.apache.kafka.clients.consumer.SubscriptionPattern");
        KafkaConsumer.class.getMethod("subscribe", pattern, ConsumerRebalanceListener.class).invoke(consumer,
            pattern.getConstructor(String.class).newInstance(topic), this);
      } else {
        consumer.subscribe(Pattern.compile(topic), this);
      }
    } catch (ReflectiveOperationException error) {
      say("note " + error);
      throw error;
    }
  }

  static boolean consumerProtocol;

  void run() {
    long committed = System.nanoTime();
    long alive = committed;
    while (!stopping) {
      if (System.nanoTime() - alive > 1_000_000_000L) {
        alive = System.nanoTime();
        say("note alive");
      }
      ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(100));
      for (TopicPartition partition : records.partitions()) {
        long first = -1, last = -2;
        for (ConsumerRecord<byte[], byte[]> record : records.records(partition)) {
          if (record.offset() != last + 1) {
            if (first >= 0) say("read " + name(partition) + " " + first + " " + last);
            first = record.offset();
          }
          last = record.offset();
        }
        say("read " + name(partition) + " " + first + " " + last);
        next.put(partition, new OffsetAndMetadata(last + 1));
      }
      if (System.nanoTime() - committed > COMMIT_EVERY_NS) {
        committed = System.nanoTime();
        commit(List.copyOf(next.keySet()));
      }
    }
    commit(List.copyOf(next.keySet()));
    try {
      consumer.close();
    } catch (KafkaException error) {  // nobody knows it any more
      say("note " + error);
    }
    say("note closed");
  }

  public static void main(String[] arguments) throws Exception {
    Map<String, String> wishes = new HashMap<>();
    for (int i = 3; i < arguments.length; i++) wishes.put(arguments[i].split("=", 2)[0], arguments[i].split("=", 2)[1]);
    consumerProtocol = "consumer".equals(wishes.get("protocol"));
    Member member = new Member(arguments[0], arguments[1], wishes);
    Thread main = Thread.currentThread();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      stopping = true;
      try {
        main.join();
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
      }
    }));
    member.subscribe(arguments[2]);
    member.run();
  }
}
