"""Record batches of format v2, made to order: sound ones and, by the arguments, unsound ones."""
import base64
import gzip
import struct

CRC_TABLE = []
for value in range(256):
    for _ in range(8):
        value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
    CRC_TABLE.append(value)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def varint(value):
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while True:
        if value < 0x80:
            return bytes(out + bytes([value]))
        out.append(value & 0x7F | 0x80)
        value >>= 7


def chunk(data):
    return varint(-1) if data is None else varint(len(data)) + data


def record(delta, timestamp_delta, key, value, headers=()):
    body = b"\0" + varint(timestamp_delta) + varint(delta) + chunk(key) + chunk(value) + varint(len(headers))
    for name, content in headers:
        body += chunk(name) + chunk(content)
    return varint(len(body)) + body


def batch(*records, timestamp=1_700_000_000_000, codec=0, producer=(-1, -1, -1), transactional=False, control=False,
          magic=2, crc_off=0, count=None, last_delta=None, base_offset=0, payload=None, append_time=False):
    """`records` are (key, value) or (key, value, headers, timestamp delta); base64 of the batch, as the protocol's JSON
    has it. `producer`: id, epoch, base sequence. `codec`: 0 none, 1 gzip; `payload` replaces the records' bytes."""
    parts = [(*each, (), 0)[:2] + ((*each, (), 0)[2:4] if len(each) < 4 else each[2:4]) for each in records]
    body = b"".join(record(i, delta, key, value, headers) for i, (key, value, headers, delta) in enumerate(parts))
    if payload is not None:
        body = payload
    elif codec == 1:
        body = gzip.compress(body, mtime=0)
    attributes = codec | (8 if append_time else 0) | (16 if transactional else 0) | (32 if control else 0)
    latest = timestamp + max((delta for *_, delta in parts), default=0)
    last = len(parts) - 1 if last_delta is None else last_delta
    checked = struct.pack(">hiqqqhii", attributes, last, timestamp, latest, *producer,
                          len(parts) if count is None else count) + body
    crc = (crc32c(checked) + crc_off) & 0xFFFFFFFF
    tail = struct.pack(">ibI", -1, magic, crc) + checked
    return base64.b64encode(struct.pack(">qi", base_offset, len(tail)) + tail).decode()
