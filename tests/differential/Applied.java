// Waits until Kafka's broker has applied every change of metadata that its controller has committed. A controller answers
// when a change is committed, and its broker hears of it later: a question in between would be answered from before.
// Both offsets are metrics of the one process that is broker and controller; it is found by its process id.
import com.sun.tools.attach.VirtualMachine;
import java.io.IOException;
import javax.management.JMException;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

final class Applied {
    private static final long LIMIT_MS = 60_000;
    private static MBeanServerConnection kafka;
    private static ObjectName controller;
    private static ObjectName broker;

    private Applied() {}

    static void await(String pid) throws Exception {
        if (kafka == null) connect(pid);
        long committed = committed();
        long deadline = System.currentTimeMillis() + LIMIT_MS;
        while (applied() < committed) {
            if (System.currentTimeMillis() > deadline) {
                throw new IllegalStateException("Kafka has applied " + applied() + " of " + committed + " changes");
            }
            Thread.sleep(1);
        }
    }

    private static void connect(String pid) throws Exception {
        VirtualMachine machine = VirtualMachine.attach(pid);
        JMXServiceURL address = new JMXServiceURL(machine.startLocalManagementAgent());
        machine.detach();
        controller = new ObjectName("kafka.controller:type=KafkaController,name=LastCommittedRecordOffset");
        broker = new ObjectName("kafka.server:type=broker-metadata-metrics");
        kafka = JMXConnectorFactory.connect(address).getMBeanServerConnection();
    }

    private static long committed() throws JMException, IOException {
        return ((Number) kafka.getAttribute(controller, "Value")).longValue();
    }

    private static long applied() throws JMException, IOException {
        return ((Number) kafka.getAttribute(broker, "last-applied-record-offset")).longValue();
    }
}
