#include "engine/record/compression.h"

#include <algorithm>
#include <array>
#include <limits>

#include <lz4frame.h>
#include <snappy.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

namespace tailrace::record {
namespace {

// What a streaming decoder did with the room it was given.
struct Step {
  std::size_t produced = 0;
  bool finished = false;
};

// Runs a streaming decoder until it has finished; `step(room)` -> Result<Step> fills at most room.size() bytes.
template <class Decoder>
Result<void> unpack_stream(Decoder& decoder, std::size_t packed_size, std::size_t bytes_max, Scratch& out) {
  constexpr std::size_t kRoomMin = 4096;
  std::size_t produced = 0;
  // Text commonly shrinks to a third or a quarter; more room is taken as it is needed.
  std::size_t room = std::max(kRoomMin, packed_size * 4);
  while (true) {
    room = std::min(room, bytes_max - produced);
    std::byte beyond{};  // when all that was allowed is there, one byte more says that there is too much
    const bool is_full = room == 0;
    const MutableBytes target = is_full ? MutableBytes{&beyond, 1} : MutableBytes{out.grow(room), room};
    auto step = decoder.step(target);
    if (!step) return std::unexpected(step.error());
    if (is_full && step->produced != 0) return failure(Code::too_large, "compressed records unpack to too much");
    if (!is_full) out.add(step->produced);
    produced += is_full ? 0 : step->produced;
    if (step->finished) return {};
    room = std::max(kRoomMin, produced);
  }
}

class GzipDecoder {
 public:
  explicit GzipDecoder(Bytes packed) : left_(packed) { ready_ = inflateInit2(&stream_, MAX_WBITS + 16) == Z_OK; }
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;
  ~GzipDecoder() {
    if (ready_) inflateEnd(&stream_);
  }

  Result<Step> step(MutableBytes room) {
    if (!ready_) return failure(Code::limit_reached, "starting gzip");
    stream_.next_out = reinterpret_cast<Bytef*>(room.data());
    stream_.avail_out = clamp(room.size());
    const std::size_t room_size = stream_.avail_out;
    while (stream_.avail_out != 0) {
      const uInt given = clamp(left_.size());
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(left_.data()));
      stream_.avail_in = given;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      left_ = left_.subspan(given - stream_.avail_in);
      if (status == Z_STREAM_END) {
        // Members may follow each other (RFC 1952); anything else behind the last one is ignored, as by Java's
        // GZIPInputStream.
        if (left_.size() < 2 || left_[0] != std::byte{0x1F} || left_[1] != std::byte{0x8B}) {
          return Step{room_size - stream_.avail_out, true};
        }
        if (inflateReset(&stream_) != Z_OK) return failure(Code::corrupt, "unpacking gzip");
        continue;
      }
      if (status == Z_MEM_ERROR) return failure(Code::limit_reached, "unpacking gzip");
      if (status != Z_OK || (left_.empty() && stream_.avail_out != 0)) return failure(Code::corrupt, "unpacking gzip");
    }
    return Step{room_size, false};
  }

 private:
  static uInt clamp(std::size_t size) {
    return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
  }

  z_stream stream_{};
  Bytes left_;
  bool ready_ = false;
};

// One per thread, since its buffers are worth keeping. An error leaves it in need of a reset, which the decoder begins
// with.
LZ4F_dctx* lz4_context() {
  struct Context {
    LZ4F_dctx* context = nullptr;
    Context() {
      if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)) != 0) context = nullptr;
    }
    ~Context() { LZ4F_freeDecompressionContext(context); }
  };
  thread_local Context of_thread;
  return of_thread.context;
}

// LZ4 frame header: magic, FLG, BD, content size (8, if FLG says so), dictionary id (4, if FLG says so), HC.
constexpr std::size_t kLz4HeaderMax = 4 + 2 + 8 + 4 + 1;
constexpr std::uint32_t kLz4Magic = 0x184D2204;  // little-endian

class Lz4Decoder {
 public:
  Lz4Decoder(Bytes packed, bool repair_checksum) : left_(packed), context_(lz4_context()) {
    if (context_ != nullptr) LZ4F_resetDecompressionContext(context_);
    if (repair_checksum) repair_header();
  }

  Result<Step> step(MutableBytes room) {
    if (context_ == nullptr) return failure(Code::limit_reached, "starting lz4");
    std::size_t filled = 0;
    while (filled < room.size()) {
      Bytes& input = header_left_.empty() ? left_ : header_left_;
      std::size_t produced = room.size() - filled;
      std::size_t consumed = input.size();
      const std::size_t status =
          LZ4F_decompress(context_, room.data() + filled, &produced, input.data(), &consumed, nullptr);
      if (LZ4F_isError(status) != 0) return failure(Code::corrupt, "unpacking lz4");
      input = input.subspan(consumed);
      filled += produced;
      if (status == 0) return Step{filled, true};  // the frame's end; what is behind it is ignored, as by Kafka
      if (consumed == 0 && produced == 0) return failure(Code::corrupt, "unpacking lz4: short");
    }
    return Step{filled, false};
  }

 private:
  // Puts the checksum that the header should have into a copy of the header.
  void repair_header() {
    if (left_.size() < 7 || load_little_endian(left_.data()) != kLz4Magic) return;
    const auto flags = static_cast<unsigned>(left_[4]);
    const std::size_t checksum_at = 6 + ((flags & 0x08) != 0 ? 8u : 0u) + ((flags & 0x01) != 0 ? 4u : 0u);
    if (left_.size() <= checksum_at) return;
    std::memcpy(header_.data(), left_.data(), checksum_at);
    header_[checksum_at] = static_cast<std::byte>(XXH32(header_.data() + 4, checksum_at - 4, 0) >> 8);
    header_left_ = Bytes(header_).first(checksum_at + 1);
    left_ = left_.subspan(checksum_at + 1);
  }
  static std::uint32_t load_little_endian(const std::byte* from) {
    return std::byteswap(load_big_endian<std::uint32_t>(from));
  }

  std::array<std::byte, kLz4HeaderMax> header_{};
  Bytes header_left_;
  Bytes left_;
  LZ4F_dctx* context_;
};

struct ZstdContexts {
  ZSTD_DCtx* unpacking = ZSTD_createDCtx();
  ZSTD_CCtx* packing = ZSTD_createCCtx();
  ~ZstdContexts() {
    ZSTD_freeDCtx(unpacking);
    ZSTD_freeCCtx(packing);
  }
};
ZstdContexts& zstd_contexts() {
  thread_local ZstdContexts of_thread;
  return of_thread;
}

// The window may be up to 128 MiB (zstd's default limit, which Kafka has too). That memory is only touched as output
// fills it.
class ZstdDecoder {
 public:
  explicit ZstdDecoder(Bytes packed) : input_{packed.data(), packed.size(), 0}, context_(zstd_contexts().unpacking) {
    if (context_ != nullptr) ZSTD_DCtx_reset(context_, ZSTD_reset_session_only);
  }

  Result<Step> step(MutableBytes room) {
    if (context_ == nullptr) return failure(Code::limit_reached, "starting zstd");
    ZSTD_outBuffer output{room.data(), room.size(), 0};
    while (output.pos < output.size) {
      const std::size_t input_before = input_.pos;
      const std::size_t output_before = output.pos;
      const std::size_t status = ZSTD_decompressStream(context_, &output, &input_);
      if (ZSTD_isError(status) != 0) return failure(Code::corrupt, "unpacking zstd");
      if (status == 0 && input_.pos == input_.size) return Step{output.pos, true};  // frames may follow each other
      if (input_.pos == input_before && output.pos == output_before)
        return failure(Code::corrupt, "unpacking zstd: short");
    }
    return Step{output.pos, false};
  }

 private:
  ZSTD_inBuffer input_;
  ZSTD_DCtx* context_;
};

// snappy-java's stream: this magic, two versions, then blocks {big-endian length, snappy}. Streams may follow each
// other.
constexpr std::array<unsigned char, 8> kSnappyStreamMagic = {0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0};
constexpr std::size_t kSnappyStreamHeaderSize = 16;
constexpr std::size_t kSnappyBlockSize = 32 * 1024;

bool begins_snappy_stream(Bytes packed) {
  return packed.size() >= kSnappyStreamHeaderSize &&
         std::memcmp(packed.data(), kSnappyStreamMagic.data(), kSnappyStreamMagic.size()) == 0;
}

Result<void> unpack_snappy_block(Bytes block, std::size_t bytes_max, Scratch& out) {
  const char* data = reinterpret_cast<const char*>(block.data());
  std::size_t size = 0;
  if (!snappy::GetUncompressedLength(data, block.size(), &size))
    return failure(Code::corrupt, "unpacking snappy: length");
  // Its densest element makes 64 bytes of 3, so a length far above that is a lie, not worth memory.
  if (size / 64 > block.size()) return failure(Code::corrupt, "unpacking snappy: length");
  if (size > bytes_max) return failure(Code::too_large, "compressed records unpack to too much");
  char* room = reinterpret_cast<char*>(out.grow(size));
  if (!snappy::RawUncompress(data, block.size(), room)) return failure(Code::corrupt, "unpacking snappy");
  out.add(size);
  return {};
}

Result<void> unpack_snappy(Bytes packed, std::size_t bytes_max, Scratch& out) {
  if (!begins_snappy_stream(packed)) return unpack_snappy_block(packed, bytes_max, out);
  const std::size_t start = out.size();
  packed = packed.subspan(kSnappyStreamHeaderSize);
  while (!packed.empty()) {
    if (begins_snappy_stream(packed)) {
      packed = packed.subspan(kSnappyStreamHeaderSize);
      continue;
    }
    if (packed.size() < 4) return failure(Code::corrupt, "unpacking snappy: short");
    const auto length = load_big_endian<std::uint32_t>(packed.data());
    packed = packed.subspan(4);
    if (length > packed.size()) return failure(Code::corrupt, "unpacking snappy: short");
    if (auto unpacked = unpack_snappy_block(packed.first(length), bytes_max - (out.size() - start), out); !unpacked) {
      return unpacked;
    }
    packed = packed.subspan(length);
  }
  return {};
}

Result<void> unpack(Compression codec, Bytes packed, std::int8_t magic, std::size_t bytes_max, Scratch& out) {
  switch (codec) {
    case Compression::none:
      if (packed.size() > bytes_max) return failure(Code::too_large, "records are too large");
      out.append(packed);
      return {};
    case Compression::gzip: {
      GzipDecoder decoder(packed);
      return unpack_stream(decoder, packed.size(), bytes_max, out);
    }
    case Compression::snappy:
      return unpack_snappy(packed, bytes_max, out);
    case Compression::lz4: {
      Lz4Decoder decoder(packed, /*repair_checksum=*/magic < kMagicV2);
      return unpack_stream(decoder, packed.size(), bytes_max, out);
    }
    case Compression::zstd: {
      ZstdDecoder decoder(packed);
      return unpack_stream(decoder, packed.size(), bytes_max, out);
    }
  }
  return failure(Code::unsupported, "unknown compression");
}

constexpr int kLz4LevelDefault = 9;  // Kafka's: not a level of lz4 itself
constexpr int kZstdLevelDefault = 3;

Result<void> pack_gzip(Bytes plain, int level, Scratch& out) {
  if (plain.size() > std::numeric_limits<std::int32_t>::max()) return failure(Code::too_large, "packing gzip");
  z_stream stream{};
  constexpr int kMemoryLevel = 8;  // zlib's default
  if (deflateInit2(&stream, level, Z_DEFLATED, MAX_WBITS + 16, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK) {
    return failure(Code::limit_reached, "starting gzip");
  }
  const auto bound = deflateBound(&stream, static_cast<uLong>(plain.size()));
  stream.next_out = reinterpret_cast<Bytef*>(out.grow(bound));
  stream.avail_out = static_cast<uInt>(bound);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  const int status = deflate(&stream, Z_FINISH);
  const std::size_t size = bound - stream.avail_out;
  deflateEnd(&stream);
  if (status != Z_STREAM_END) return failure(Code::limit_reached, "packing gzip");
  out.add(size);
  return {};
}

Result<void> pack_snappy(Bytes plain, Scratch& out) {
  std::byte* header = out.grow(kSnappyStreamHeaderSize);
  std::memcpy(header, kSnappyStreamMagic.data(), kSnappyStreamMagic.size());
  store_big_endian<std::int32_t>(header + 8, 1);  // version, and the oldest one that can read it
  store_big_endian<std::int32_t>(header + 12, 1);
  out.add(kSnappyStreamHeaderSize);
  while (!plain.empty()) {
    const Bytes block = plain.first(std::min(plain.size(), kSnappyBlockSize));
    std::byte* room = out.grow(4 + snappy::MaxCompressedLength(block.size()));
    std::size_t size = 0;
    snappy::RawCompress(reinterpret_cast<const char*>(block.data()), block.size(), reinterpret_cast<char*>(room + 4),
                        &size);
    store_big_endian(room, static_cast<std::uint32_t>(size));
    out.add(4 + size);
    plain = plain.subspan(block.size());
  }
  return {};
}

// lz4-java's high compressor has no levels below 3 of its own, nor above 12.
int lz4_frame_level(int level) { return level == kLz4LevelDefault ? 0 : std::clamp(level, 3, 12); }

Result<void> pack_lz4(Bytes plain, int level, Scratch& out) {
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.blockSizeID = LZ4F_max64KB;
  preferences.frameInfo.blockMode = LZ4F_blockIndependent;  // Java clients read no other
  preferences.compressionLevel = lz4_frame_level(level);
  const std::size_t bound = LZ4F_compressFrameBound(plain.size(), &preferences);
  std::byte* room = out.grow(bound);
  const std::size_t size = LZ4F_compressFrame(room, bound, plain.data(), plain.size(), &preferences);
  if (LZ4F_isError(size) != 0) return failure(Code::limit_reached, "packing lz4");
  out.add(size);
  return {};
}

Result<void> pack_zstd(Bytes plain, int level, Scratch& out) {
  ZSTD_CCtx* context = zstd_contexts().packing;
  if (context == nullptr) return failure(Code::limit_reached, "starting zstd");
  const std::size_t bound = ZSTD_compressBound(plain.size());
  const std::size_t size = ZSTD_compressCCtx(context, out.grow(bound), bound, plain.data(), plain.size(), level);
  if (ZSTD_isError(size) != 0) return failure(Code::limit_reached, "packing zstd");
  out.add(size);
  return {};
}

}  // namespace

void Scratch::reallocate(std::size_t size_min) {
  const std::size_t capacity = std::max(size_min, capacity_ + capacity_ / 2);
  auto data = std::make_unique_for_overwrite<std::byte[]>(capacity);
  if (size_ != 0) std::memcpy(data.get(), data_.get(), size_);
  data_ = std::move(data);
  capacity_ = capacity;
}

Result<void> decompress(Compression codec, Bytes packed, std::int8_t magic, std::size_t bytes_max, Scratch& out) {
  const std::size_t size_before = out.size();
  auto unpacked = unpack(codec, packed, magic, bytes_max, out);
  if (!unpacked) out.truncate(size_before);
  return unpacked;
}

Result<void> compress(Compression codec, Bytes plain, Scratch& out, std::optional<int> level) {
  switch (codec) {
    case Compression::none:
      out.append(plain);
      return {};
    case Compression::gzip:
      return pack_gzip(plain, level.value_or(Z_DEFAULT_COMPRESSION), out);
    case Compression::snappy:
      return pack_snappy(plain, out);
    case Compression::lz4:
      return pack_lz4(plain, level.value_or(kLz4LevelDefault), out);
    case Compression::zstd:
      return pack_zstd(plain, level.value_or(kZstdLevelDefault), out);
  }
  return failure(Code::unsupported, "unknown compression");
}

const char* name(Compression codec) {
  switch (codec) {
    case Compression::none:
      return "none";
    case Compression::gzip:
      return "gzip";
    case Compression::snappy:
      return "snappy";
    case Compression::lz4:
      return "lz4";
    case Compression::zstd:
      return "zstd";
  }
  return "unknown";
}

}  // namespace tailrace::record
