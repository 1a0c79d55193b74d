// Speaks Kafka's protocol with Kafka's own message classes for a script: one JSON request per line on stdin, one JSON
// answer per line on stdout. A connection is named by the script and opened when it is first used.
//
//   {"to": "HOST:PORT", "connection": "a", "api": "Metadata", "version": 12, "client_id": "x", "body": {...}}
//     -> {"body": {...}} | {"inexpressible": "why"} (the version has no such field) | {"closed": true}
//        | {"silent": true} (no answer, where none_ms was given and nothing came) | {"unreadable": "why"}
//   {"to": ..., "connection": ..., "api": ..., "version": ..., "body": {...}, "later": true}   -> {}, the answer is not
//     waited for; the same with "read": true and without a body reads it
//   {"to": ..., "connection": ..., "raw": "hex of a frame without its size"}   -> {"raw": "hex"} | {"closed": true}
//   {"to": ..., "connection": ..., "hang_up": true}                            -> {}
//   {"tool": "CLASS", "arguments": [...], "alone": true}      -> {"status": 0, "lines": [...], "errors": [...]}
//   {"names": true}                                                            -> {"3": "Metadata", ...}
//   {"applied": "process id of Kafka"}   -> {}, when its broker has applied what its controller has committed
//
// Fields have the names of Kafka's schemas; those that are left out keep their defaults, so that one body serves all
// versions. Bytes are base64.
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.message.ResponseHeaderData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.record.internal.BaseRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;

public class Ask {
    private static final int ANSWER_MS = 60_000;
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, Socket> CONNECTIONS = new HashMap<>();
    private static final Map<String, Integer> LATER = new HashMap<>();  // correlation ids of answers not yet read
    private static int correlation = 0;

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        PrintStream out = System.out;
        System.setOut(System.err);  // what a tool's thread has still to say is no answer
        for (String line; (line = in.readLine()) != null;) {
            out.println(JSON.writeValueAsString(serve(JSON.readTree(line))));
            out.flush();
        }
    }

    private static ObjectNode serve(JsonNode ask) throws Exception {
        if (ask.has("names")) {
            ObjectNode names = object();
            for (ApiMessageType each : ApiMessageType.values()) names.put(Short.toString(each.apiKey()), each.name);
            return names;
        }
        if (ask.has("tool")) return Tool.run(ask);
        if (ask.has("applied")) {
            Applied.await(ask.get("applied").asText());
            return object();
        }
        String name = ask.get("to").asText() + " " + ask.get("connection").asText();
        if (ask.has("hang_up")) {
            drop(name);
            return object();
        }
        ByteBuffer frame = null;
        int id = ask.has("read") ? LATER.remove(name) : ++correlation;
        try {
            if (!ask.has("read")) frame = ask.has("raw") ? ByteBuffer.wrap(HexFormat.of().parseHex(ask.get("raw").asText())) : frame(ask, id);
        } catch (UnsupportedVersionException e) {
            return object().put("inexpressible", e.getMessage());
        }
        try {
            Socket socket = CONNECTIONS.get(name);
            if (socket == null) {
                String to = ask.get("to").asText();
                int colon = to.lastIndexOf(':');
                socket = new Socket(to.substring(0, colon), Integer.parseInt(to.substring(colon + 1)));
                socket.setTcpNoDelay(true);
                CONNECTIONS.put(name, socket);
            }
            socket.setSoTimeout(ask.has("none_ms") ? ask.get("none_ms").asInt() : ANSWER_MS);
            if (frame != null) {
                byte[] bytes = new byte[4 + frame.remaining()];
                ByteBuffer.wrap(bytes).putInt(frame.remaining()).put(frame.duplicate());
                socket.getOutputStream().write(bytes);
            }
            if (ask.has("later")) {
                LATER.put(name, id);
                return object();
            }
            DataInputStream in = new DataInputStream(socket.getInputStream());
            byte[] answer = new byte[in.readInt()];
            in.readFully(answer);
            if (ask.has("raw")) return object().put("raw", HexFormat.of().formatHex(answer));
            return decoded(ask, ByteBuffer.wrap(answer), id);
        } catch (SocketTimeoutException e) {
            drop(name);
            return object().put("silent", true);
        } catch (EOFException | java.net.SocketException e) {
            drop(name);
            return object().put("closed", true);
        }
    }

    private static void drop(String name) throws IOException {
        Socket socket = CONNECTIONS.remove(name);
        if (socket != null) socket.close();
    }

    private static ApiMessageType typeOf(String name) {
        for (ApiMessageType each : ApiMessageType.values()) {
            if (each.name.equals(name)) return each;
        }
        throw new IllegalArgumentException("no api is named " + name);
    }

    private static ObjectNode object() {
        return new ObjectNode(JsonNodeFactory.instance);
    }

    private static ByteBuffer frame(JsonNode ask, int id) throws Exception {
        ApiMessageType type = typeOf(ask.get("api").asText());
        short version = (short) ask.get("version").asInt();
        RequestHeaderData header = new RequestHeaderData()
            .setRequestApiKey(type.apiKey())
            .setRequestApiVersion(version)
            .setCorrelationId(id)
            .setClientId(ask.has("client_id") ? ask.get("client_id").asText() : "differential");
        ApiMessage body = type.newRequest();
        fill(body, ask.get("body"));
        short headerVersion = type.requestHeaderVersion(version);
        ObjectSerializationCache cache = new ObjectSerializationCache();
        int size = header.size(cache, headerVersion) + body.size(cache, version);
        ByteBuffer buffer = ByteBuffer.allocate(size);
        header.write(new ByteBufferAccessor(buffer), cache, headerVersion);
        body.write(new ByteBufferAccessor(buffer), cache, version);
        buffer.flip();
        return buffer;
    }

    private static ObjectNode decoded(JsonNode ask, ByteBuffer answer, int id) throws Exception {
        ApiMessageType type = typeOf(ask.get("api").asText());
        short version = (short) ask.get("version").asInt();
        try {
            ResponseHeaderData header =
                new ResponseHeaderData(new ByteBufferAccessor(answer), type.responseHeaderVersion(version));
            if (header.correlationId() != id) return object().put("unreadable", "another correlation id");
            ApiMessage body = type.newResponse();
            // Kafka answers ApiVersions of a version that it does not know in version 0, and so may we.
            if (type == ApiMessageType.API_VERSIONS && answer.getShort(answer.position()) == 35) version = 0;
            body.read(new ByteBufferAccessor(answer), version);
            if (answer.hasRemaining()) return object().put("unreadable", answer.remaining() + " bytes left over");
            ObjectNode result = object();
            JsonNode json = toJson(body, version);
            if (body instanceof FetchResponseData fetched) putRecords(fetched, json);
            result.set("body", json);
            return result;
        } catch (RuntimeException e) {
            return object().put("unreadable", e.toString());
        }
    }

    private static JsonNode toJson(ApiMessage message, short version) throws Exception {
        Class<?> converter = Class.forName(message.getClass().getName() + "JsonConverter");
        for (Method method : converter.getMethods()) {
            if (method.getName().equals("write") && method.getParameterCount() == 2) {
                return (JsonNode) method.invoke(null, message, version);
            }
        }
        throw new IllegalStateException(converter.getName());
    }

    // Kafka's converter leaves the records out.
    private static void putRecords(FetchResponseData fetched, JsonNode json) {
        for (int i = 0; i < fetched.responses().size(); i++) {
            List<FetchResponseData.PartitionData> partitions = fetched.responses().get(i).partitions();
            for (int j = 0; j < partitions.size(); j++) {
                if (!(partitions.get(j).records() instanceof MemoryRecords records)) continue;
                byte[] bytes = new byte[records.buffer().remaining()];
                records.buffer().duplicate().get(bytes);
                ((ObjectNode) json.get("responses").get(i).get("partitions").get(j)).put("records", bytes);
            }
        }
    }

    // Sets what the JSON names; everything else keeps its default.
    private static void fill(Object message, JsonNode json) throws Exception {
        for (Map.Entry<String, JsonNode> field : json.properties()) {
            String setter = "set" + Character.toUpperCase(field.getKey().charAt(0)) + field.getKey().substring(1);
            Method method = null;
            for (Method each : message.getClass().getMethods()) {
                if (each.getName().equals(setter) && each.getParameterCount() == 1) method = each;
            }
            if (method == null) throw new IllegalArgumentException(message.getClass().getName() + " has no " + setter);
            method.invoke(message, value(method.getGenericParameterTypes()[0], field.getValue()));
        }
    }

    private static Object value(Type type, JsonNode json) throws Exception {
        if (json.isNull()) return null;
        if (type == boolean.class) return json.asBoolean();
        if (type == byte.class || type == Byte.class) return (byte) json.asInt();
        if (type == short.class || type == Short.class) return (short) json.asInt();
        if (type == int.class || type == Integer.class) return json.asInt();
        if (type == long.class || type == Long.class) return json.asLong();
        if (type == double.class) return json.asDouble();
        if (type == String.class) return json.asText();
        if (type == Uuid.class) return Uuid.fromString(json.asText());
        if (type == byte[].class) return Base64.getDecoder().decode(json.asText());
        if (type == ByteBuffer.class) return ByteBuffer.wrap(Base64.getDecoder().decode(json.asText()));
        if (type == BaseRecords.class) {
            return MemoryRecords.readableRecords(ByteBuffer.wrap(Base64.getDecoder().decode(json.asText())));
        }
        if (type instanceof ParameterizedType list) {
            List<Object> all = new ArrayList<>();
            for (JsonNode each : json) all.add(value(list.getActualTypeArguments()[0], each));
            return all;
        }
        Class<?> plain = (Class<?>) type;
        if (Collection.class.isAssignableFrom(plain)) {
            Type element = ((ParameterizedType) plain.getGenericSuperclass()).getActualTypeArguments()[0];
            @SuppressWarnings("unchecked")
            Collection<Object> all = (Collection<Object>) plain.getDeclaredConstructor().newInstance();
            for (JsonNode each : json) all.add(value(element, each));
            return all;
        }
        Object struct = plain.getDeclaredConstructor().newInstance();
        fill(struct, json);
        return struct;
    }
}
