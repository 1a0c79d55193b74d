// Runs one of Kafka's command-line tools inside this process, which saves a JVM's start for each, and says what it
// printed and how it ended.
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.utils.internals.Exit;

final class Tool {
    private static final int LIMIT_MS = 60_000;

    private static final class Ended extends Error {
        private static final long serialVersionUID = 1L;
        private final int status;

        private Ended(int status) {
            this.status = status;
        }
    }

    private Tool() {}

    static ObjectNode run(JsonNode ask) throws Exception {
        Method main = Class.forName(ask.get("tool").asText()).getMethod("main", String[].class);
        String[] arguments = new String[ask.get("arguments").size()];
        for (int i = 0; i < arguments.length; i++) arguments[i] = ask.get("arguments").get(i).asText();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        PrintStream oldOut = System.out;
        PrintStream oldErr = System.err;
        InputStream oldIn = System.in;
        int[] status = {0};
        Exit.Procedure exit = (code, message) -> {
            throw new Ended(code);
        };
        Exit.setExitProcedure(exit);
        Exit.setHaltProcedure(exit);
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        System.setIn(new ByteArrayInputStream(ask.path("input").asText().getBytes(StandardCharsets.UTF_8)));
        try {
            Thread thread = new Thread(() -> {
                try {
                    main.invoke(null, (Object) arguments);
                } catch (InvocationTargetException e) {
                    if (e.getCause() instanceof Ended ended) {
                        status[0] = ended.status;
                    } else {
                        status[0] = 1;
                        System.err.println(e.getCause());
                    }
                } catch (IllegalAccessException e) {
                    status[0] = -1;
                }
            });
            thread.setDaemon(true);
            thread.start();
            thread.join(LIMIT_MS);
            if (thread.isAlive()) status[0] = -2;
        } finally {
            System.setOut(oldOut);
            System.setErr(oldErr);
            System.setIn(oldIn);
            Exit.resetExitProcedure();
            Exit.resetHaltProcedure();
        }
        ObjectNode result = new ObjectNode(JsonNodeFactory.instance);
        result.put("status", status[0]);
        result.set("lines", lines(out));
        result.set("errors", lines(err));
        return result;
    }

    private static JsonNode lines(ByteArrayOutputStream text) {
        var array = JsonNodeFactory.instance.arrayNode();
        text.toString(StandardCharsets.UTF_8).lines().forEach(array::add);
        return array;
    }
}
