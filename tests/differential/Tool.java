// Runs one of Kafka's command-line tools inside this process, which saves a JVM's start for each, and says what it
// printed and how it ended. A tool that has work to do when its JVM ends gets a JVM of its own.
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.common.utils.internals.Exit;

final class Tool {
    private static final int LIMIT_MS = 60_000;
    private static final int UNENDED = -2;

    private static final class Ended extends Error {
        private static final long serialVersionUID = 1L;
    }

    private Tool() {}

    static ObjectNode run(JsonNode ask) throws Exception {
        return ask.path("alone").asBoolean() ? runAlone(ask) : runHere(ask);
    }

    private static ObjectNode runAlone(JsonNode ask) throws Exception {
        List<String> command = new ArrayList<>(List.of(
            System.getProperty("java.home") + "/bin/java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
            "-cp", System.getProperty("java.class.path"), ask.get("tool").asText()));
        ask.get("arguments").forEach(each -> command.add(each.asText()));
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        process.getOutputStream().close();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Thread reader = new Thread(() -> {
            try {
                process.getInputStream().transferTo(out);
            } catch (IOException e) {
                // It was ended, and what it printed does not count.
            }
        });
        reader.start();
        boolean ended = process.waitFor(LIMIT_MS, TimeUnit.MILLISECONDS);
        if (!ended) process.destroyForcibly();
        reader.join();
        return result(ended ? process.exitValue() : UNENDED, out, new ByteArrayOutputStream());
    }

    private static ObjectNode runHere(JsonNode ask) throws Exception {
        Method main = Class.forName(ask.get("tool").asText()).getMethod("main", String[].class);
        String[] arguments = new String[ask.get("arguments").size()];
        for (int i = 0; i < arguments.length; i++) arguments[i] = ask.get("arguments").get(i).asText();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        PrintStream oldOut = System.out;
        PrintStream oldErr = System.err;
        InputStream oldIn = System.in;
        int[] status = {0};
        AtomicReference<Integer> said = new AtomicReference<>();  // the first counts: some tools catch what ends them
        Exit.Procedure exit = (code, message) -> {
            said.compareAndSet(null, code);
            throw new Ended();
        };
        Exit.setExitProcedure(exit);
        Exit.setHaltProcedure(exit);
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        System.setIn(new ByteArrayInputStream(new byte[0]));
        try {
            Thread thread = new Thread(() -> {
                try {
                    main.invoke(null, (Object) arguments);
                } catch (InvocationTargetException e) {
                    if (!(e.getCause() instanceof Ended)) {
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
            if (thread.isAlive()) {
                status[0] = UNENDED;
            } else if (said.get() != null) {
                status[0] = said.get();
            }
        } finally {
            System.setOut(oldOut);
            System.setErr(oldErr);
            System.setIn(oldIn);
            Exit.resetExitProcedure();
            Exit.resetHaltProcedure();
        }
        return result(status[0], out, err);
    }

    private static ObjectNode result(int status, ByteArrayOutputStream out, ByteArrayOutputStream err) {
        ObjectNode result = new ObjectNode(JsonNodeFactory.instance);
        result.put("status", status);
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
