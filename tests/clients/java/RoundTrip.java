// A producer and a consumer of kafka-clients with their default settings, and the admin client: what an application in
// Java does, without groups. RoundTrip BOOTSTRAP PREFIX. Prints ok and not ok lines; status 1 when one is not ok.
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class RoundTrip {
  static final int LIMIT_S = 25;
  static final int RECORDS = 3000;
  static final int PARTITIONS = 3;
  static String bootstrap;
  static String prefix;
  static boolean failed = false;

  static void verdict(boolean ok, String what) {
    failed |= !ok;
    System.out.println((ok ? "ok - " : "not ok - ") + "java: " + what);
  }

  static Properties settings(String... more) {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", bootstrap);
    for (int i = 0; i < more.length; i += 2) settings.put(more[i], more[i + 1]);
    return settings;
  }

  static KafkaProducer<byte[], byte[]> producer(String... more) {
    return new KafkaProducer<>(settings(more), new ByteArraySerializer(), new ByteArraySerializer());
  }

  static <T> Throwable errorOf(Future<T> future) throws Exception {
    try {
      future.get(LIMIT_S, TimeUnit.SECONDS);
      return null;
    } catch (ExecutionException e) {
      return e.getCause();
    }
  }

  static byte[] value(int i) {
    byte[] value = new byte[i % 500];
    new java.util.Random(i).nextBytes(value);
    return value;
  }

  static List<ConsumerRecord<byte[], byte[]>> readAll(KafkaConsumer<byte[], byte[]> consumer, String topic, int count) {
    List<TopicPartition> partitions = new ArrayList<>();
    for (int p = 0; p < PARTITIONS; p++) partitions.add(new TopicPartition(topic, p));
    consumer.assign(partitions);
    consumer.seekToBeginning(partitions);
    List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
    long giveUp = System.nanoTime() + LIMIT_S * 1_000_000_000L;
    while (records.size() < count && System.nanoTime() < giveUp) {
      for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) records.add(record);
    }
    return records;
  }

  static void roundTrip(Admin admin, String codec) throws Exception {
    String topic = prefix + "-" + codec;
    admin.createTopics(List.of(new NewTopic(topic, PARTITIONS, (short) 1))).all().get(LIMIT_S, TimeUnit.SECONDS);
    List<Future<RecordMetadata>> sent = new ArrayList<>();
    try (KafkaProducer<byte[], byte[]> producer = producer("compression.type", codec, "linger.ms", "5")) {
      for (int i = 0; i < RECORDS; i++) {
        ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(topic, i % PARTITIONS, 1_700_000_000_000L + i,
            ("key " + i).getBytes(), i % 10 == 9 ? null : value(i));
        record.headers().add("n", Integer.toString(i).getBytes()).add("none", null);
        sent.add(producer.send(record));
      }
    }
    Set<Long> offsets = new HashSet<>();
    for (int i = 0; i < RECORDS; i += PARTITIONS) offsets.add(sent.get(i).get(LIMIT_S, TimeUnit.SECONDS).offset());
    verdict(offsets.size() == RECORDS / PARTITIONS && offsets.contains(0L), "produce with " + codec);

    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
        settings("enable.auto.commit", "false", "isolation.level", "read_committed"), new ByteArrayDeserializer(),
        new ByteArrayDeserializer())) {
      List<ConsumerRecord<byte[], byte[]>> records = readAll(consumer, topic, RECORDS);
      boolean same = records.size() == RECORDS;
      for (ConsumerRecord<byte[], byte[]> record : records) {
        int i = (int) record.offset() * PARTITIONS + record.partition();
        Header[] headers = record.headers().toArray();
        same &= Arrays.equals(record.key(), ("key " + i).getBytes());
        same &= Arrays.equals(record.value(), i % 10 == 9 ? null : value(i));
        same &= record.timestamp() == 1_700_000_000_000L + i;
        same &= headers.length == 2 && new String(headers[0].value()).equals(Integer.toString(i));
        same &= headers.length == 2 && headers[1].value() == null;
      }
      verdict(same, "equal records in equal order with " + codec);
    }
  }

  static void offsets(Admin admin, String topic) throws Exception {
    TopicPartition partition = new TopicPartition(topic, 0);
    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings("enable.auto.commit", "false"),
        new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      consumer.assign(List.of(partition));
      long end = consumer.endOffsets(List.of(partition)).get(partition);
      long begin = consumer.beginningOffsets(List.of(partition)).get(partition);
      verdict(begin == 0 && end == RECORDS / PARTITIONS, "begin and end offsets");
      Map<TopicPartition, OffsetAndTimestamp> found = consumer.offsetsForTimes(Map.of(partition, 1_700_000_000_300L));
      verdict(found.get(partition) != null && found.get(partition).offset() == 100, "the offset for a time");
      found = consumer.offsetsForTimes(Map.of(partition, 1_900_000_000_000L));
      verdict(found.get(partition) == null, "no offset for a time to come");
      consumer.seek(partition, 500);
      long giveUp = System.nanoTime() + LIMIT_S * 1_000_000_000L;
      List<ConsumerRecord<byte[], byte[]>> records = List.of();
      while (records.isEmpty() && System.nanoTime() < giveUp) {
        records = consumer.poll(Duration.ofSeconds(1)).records(partition);
      }
      verdict(!records.isEmpty() && records.get(0).offset() == 500, "seek");
      verdict(consumer.listTopics(Duration.ofSeconds(LIMIT_S)).containsKey(topic), "list topics");
    }
    ListOffsetsResult result = admin.listOffsets(Map.of(partition, OffsetSpec.latest()));
    verdict(result.all().get(LIMIT_S, TimeUnit.SECONDS).get(partition).offset() == RECORDS / PARTITIONS,
        "list offsets by the admin client");
    result = admin.listOffsets(Map.of(partition, OffsetSpec.maxTimestamp()));
    verdict(result.all().get(LIMIT_S, TimeUnit.SECONDS).get(partition).offset() == RECORDS / PARTITIONS - 1,
        "the offset of the largest timestamp");
  }

  static void topics(Admin admin) throws Exception {
    List<Node> nodes = new ArrayList<>(admin.describeCluster().nodes().get(LIMIT_S, TimeUnit.SECONDS));
    Node controller = admin.describeCluster().controller().get(LIMIT_S, TimeUnit.SECONDS);
    String id = admin.describeCluster().clusterId().get(LIMIT_S, TimeUnit.SECONDS);
    verdict(nodes.contains(controller) && id != null && !id.isEmpty(), "describe the cluster");

    String topic = prefix + "-topics";
    NewTopic made = new NewTopic(topic, 2, (short) 1).configs(Map.of("retention.ms", "7200000"));
    verdict(errorOf(admin.createTopics(List.of(made)).all()) == null, "create a topic");
    verdict(errorOf(admin.createTopics(List.of(made)).all()) instanceof TopicExistsException, "create it only once");
    TopicDescription before = admin.describeTopics(List.of(topic)).allTopicNames().get(LIMIT_S, TimeUnit.SECONDS)
        .get(topic);
    verdict(before.partitions().size() == 2 && before.partitions().get(0).leader() != null
        && !Objects.equals(before.topicId().toString(), "AAAAAAAAAAAAAAAAAAAAAA"), "describe a topic");
    ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
    Config config = admin.describeConfigs(List.of(resource)).all().get(LIMIT_S, TimeUnit.SECONDS).get(resource);
    verdict(config.get("retention.ms").value().equals("7200000") && !config.get("retention.ms").isDefault()
        && config.get("cleanup.policy").isDefault(), "describe its settings");
    verdict(errorOf(admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(4))).all()) == null,
        "add partitions");
    int partitions = 0;
    long giveUp = System.nanoTime() + LIMIT_S * 1_000_000_000L;
    while (partitions != 4 && System.nanoTime() < giveUp) {
      partitions = admin.describeTopics(List.of(topic)).allTopicNames().get(LIMIT_S, TimeUnit.SECONDS).get(topic)
          .partitions().size();
    }
    verdict(partitions == 4, "see the added partitions");
    verdict(errorOf(admin.deleteTopics(List.of(topic)).all()) == null, "delete a topic");
    verdict(errorOf(admin.deleteTopics(List.of(topic)).all()) instanceof UnknownTopicOrPartitionException,
        "delete it only once");
    verdict(errorOf(admin.describeTopics(List.of(topic)).allTopicNames()) instanceof UnknownTopicOrPartitionException,
        "it is gone");
  }

  static void refused(String topic) throws Exception {
    try (KafkaProducer<byte[], byte[]> producer = producer("max.request.size", "8000000")) {
      Throwable error = errorOf(producer.send(new ProducerRecord<>(topic, 0, null, new byte[3_000_000])));
      verdict(error instanceof RecordTooLargeException, "a record above message.max.bytes is refused: " + error);
      verdict(errorOf(producer.send(new ProducerRecord<>(topic, 0, null, new byte[900_000]))) == null,
          "the producer goes on after it");
    }
  }

  public static void main(String[] arguments) throws Exception {
    bootstrap = arguments[0];
    prefix = arguments[1];
    try (Admin admin = Admin.create(settings())) {
      topics(admin);
      for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) roundTrip(admin, codec);
      offsets(admin, prefix + "-zstd");
      refused(prefix + "-none");
    }
    System.exit(failed ? 1 : 0);
  }
}
