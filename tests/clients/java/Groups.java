// Consumer groups in all their states, held for as long as standard input is open: Groups BOOTSTRAP PREFIX. Each group's
// id begins with the prefix; says `ready` when they are as they shall be. With `classic` as the third argument there is
// no group of the new protocol.
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.*;

public class Groups {
  static final int RECORDS = 30;
  static String bootstrap;
  static final AtomicBoolean stop = new AtomicBoolean();
  static final List<Thread> threads = new ArrayList<>();

  // Static members, too, leave for good.
  static void leave(Consumer<byte[], byte[]> consumer) {
    consumer.close(CloseOptions.timeout(Duration.ofSeconds(5))
                       .withGroupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
  }

  static Properties config(Object... more) {
    Properties all = new Properties();
    all.put("bootstrap.servers", bootstrap);
    for (int i = 0; i < more.length; i += 2) all.put((String) more[i], more[i + 1]);
    return all;
  }

  static Consumer<byte[], byte[]> consumer(String group, Object... more) {
    Properties all = config(more);
    all.put("group.id", group);
    all.put("enable.auto.commit", "false");
    all.put("auto.offset.reset", "earliest");
    return new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  // A member that polls in a thread of its own until the end.
  static void member(String group, String clientId, List<String> topics, Object... more) {
    Consumer<byte[], byte[]> consumer = consumer(group, append(more, "client.id", clientId));
    consumer.subscribe(topics);
    Thread thread = new Thread(() -> {
      while (!stop.get()) consumer.poll(Duration.ofMillis(100));
      leave(consumer);
    });
    thread.start();
    threads.add(thread);
  }

  static Object[] append(Object[] some, Object... more) {
    Object[] all = Arrays.copyOf(some, some.length + more.length);
    System.arraycopy(more, 0, all, some.length, more.length);
    return all;
  }

  // Offsets of a group that has no members.
  static void commit(Admin admin, String group, Map<TopicPartition, Long> offsets) throws Exception {
    Map<TopicPartition, OffsetAndMetadata> all = new HashMap<>();
    offsets.forEach((partition, offset) -> all.put(partition, new OffsetAndMetadata(offset, Optional.of(0), "")));
    admin.alterConsumerGroupOffsets(group, all).all().get();
  }

  // Until the group is stable, has so many members, and these have so many partitions.
  static void await(Admin admin, String group, int members, int partitions) throws Exception {
    for (long end = System.nanoTime() + 90_000_000_000L;;) {
      String found;
      try {
        ConsumerGroupDescription is = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
        int assigned = is.members().stream().mapToInt(m -> m.assignment().topicPartitions().size()).sum();
        found = is.groupState() + " with " + is.members().size() + " members and " + assigned + " partitions";
        if (found.equals("Stable with " + members + " members and " + partitions + " partitions")) return;
        if (members == 0 && is.members().isEmpty()) return;
      } catch (java.util.concurrent.ExecutionException e) {
        found = e.getCause().toString();
      }
      if (System.nanoTime() > end) throw new IllegalStateException(group + " is " + found);
      Thread.sleep(50);
    }
  }

  public static void main(String[] arguments) throws Exception {
    bootstrap = arguments[0];
    String prefix = arguments[1];
    boolean withNew = arguments.length < 3 || !arguments[2].equals("classic");
    String a = prefix + "-a", b = prefix + "-b";
    Admin admin = Admin.create(config());
    Map<String, String> forever = Map.of("retention.ms", "-1");  // the records are old
    admin.createTopics(List.of(new NewTopic(a, 3, (short) 1).configs(forever), new NewTopic(b, 2, (short) 1).configs(forever)))
        .all().get();
    try (Producer<byte[], byte[]> producer = new KafkaProducer<>(config(), new ByteArraySerializer(), new ByteArraySerializer())) {
      for (int i = 0; i < RECORDS; ++i) {
        byte[] value = ("record " + i).getBytes(StandardCharsets.UTF_8);
        for (int p = 0; p < 3; ++p) producer.send(new ProducerRecord<>(a, p, 1_600_000_000_000L + i * 1000L, null, value));
        producer.send(new ProducerRecord<>(b, 0, null, value));  // b-1 stays empty
      }
    }
    TopicPartition a0 = new TopicPartition(a, 0), a1 = new TopicPartition(a, 1), a2 = new TopicPartition(a, 2);
    TopicPartition b0 = new TopicPartition(b, 0), b1 = new TopicPartition(b, 1);

    // Committed without ever having members, by one and by several partitions.
    commit(admin, prefix + "-simple", Map.of(a0, 7L, a1, 30L, b0, 0L, b1, 0L));
    commit(admin, prefix + "-lagging", Map.of(a2, 29L));
    // Had a member, which has left.
    commit(admin, prefix + "-empty", Map.of(a0, 5L, b0, 11L));
    try (Consumer<byte[], byte[]> once = consumer(prefix + "-empty")) {
      once.subscribe(List.of(a, b));
      while (once.assignment().isEmpty()) once.poll(Duration.ofMillis(100));
    }
    // Of the classic protocol: more partitions than members, and committed only in part.
    commit(admin, prefix + "-classic", Map.of(a0, 10L, a1, 30L, b1, 0L));
    member(prefix + "-classic", "one", List.of(a, b));
    member(prefix + "-classic", "two", List.of(a, b));
    // Static members, one more than there are partitions; an offset of a topic that they do not read.
    commit(admin, prefix + "-static", Map.of(b0, 3L, a2, 4L));
    for (String name : List.of("x", "y", "z")) {
      member(prefix + "-static", "client-" + name, List.of(b), "group.instance.id", name,
             "partition.assignment.strategy", CooperativeStickyAssignor.class.getName());
    }
    // Of the new protocol (KIP-848).
    if (withNew) {
      commit(admin, prefix + "-consumer", Map.of(a0, 1L, a1, 2L));
      member(prefix + "-consumer", "new", List.of(a), "group.protocol", "consumer");
      member(prefix + "-consumer", "new-static", List.of(a), "group.protocol", "consumer", "group.instance.id", "s");
    }
    // One that takes no part in the rebalance that another's joining has begun: the group waits for it.
    Consumer<byte[], byte[]> idle = consumer(prefix + "-rebalancing", "client.id", "idle", "max.poll.interval.ms", "600000",
                                             "session.timeout.ms", "45000");
    idle.subscribe(List.of(a));
    while (idle.assignment().isEmpty()) idle.poll(Duration.ofMillis(100));
    member(prefix + "-rebalancing", "late", List.of(a), "max.poll.interval.ms", "600000");

    await(admin, prefix + "-empty", 0, 0);
    await(admin, prefix + "-classic", 2, 5);
    await(admin, prefix + "-static", 3, 2);
    if (withNew) await(admin, prefix + "-consumer", 2, 3);
    while (admin.describeConsumerGroups(List.of(prefix + "-rebalancing")).all().get().get(prefix + "-rebalancing").groupState()
           != org.apache.kafka.common.GroupState.PREPARING_REBALANCE) Thread.sleep(50);
    System.out.println("ready");
    while (System.in.read() >= 0) { }
    stop.set(true);
    leave(idle);
    for (Thread thread : threads) thread.join();
    admin.close();
  }
}
