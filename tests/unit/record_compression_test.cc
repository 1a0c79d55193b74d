// The four codecs: what goes in comes out, damage is told, and nothing unpacks to more than the caller allows.
#include "engine/record/compression.h"

#include <gtest/gtest.h>
#include <lz4frame.h>
#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include <random>
#include <string>
#include <vector>

using namespace tailrace;
using namespace tailrace::record;

namespace {

constexpr Compression kCodecs[] = {Compression::gzip, Compression::snappy, Compression::lz4, Compression::zstd};

// Text that repeats a little, as records do.
std::string sample(std::size_t size) {
  std::mt19937 random(static_cast<unsigned>(size));
  const char* words[] = {"offset ", "epoch ", "segment ", "leader ", "follower ", "index "};
  std::string text;
  while (text.size() < size) text += words[random() % 6] + std::to_string(random() % 1000);
  text.resize(size);
  return text;
}

std::string pack(Compression codec, const std::string& plain) {
  Scratch out;
  EXPECT_TRUE(compress(codec, as_bytes(plain), out));
  return std::string(as_text(out.bytes()));
}

Result<std::string> unpack(Compression codec, const std::string& packed, std::size_t bytes_max = 1 << 24,
                           std::int8_t magic = 2) {
  Scratch out;
  out.append(as_bytes("before"));  // what is there already stays
  const auto unpacked = decompress(codec, as_bytes(packed), magic, bytes_max, out);
  EXPECT_EQ(as_text(out.bytes()).substr(0, 6), "before");
  if (!unpacked) {
    EXPECT_EQ(out.size(), 6u);
    return std::unexpected(unpacked.error());
  }
  return std::string(as_text(out.bytes()).substr(6));
}

TEST(Compression, UnpacksWhatItPacks) {
  for (const Compression codec : kCodecs) {
    for (const std::size_t size : {0u, 1u, 100u, 4096u, 32768u, 32769u, 65536u, 1u << 20, (3u << 20) + 7}) {
      const std::string plain = sample(size);
      const auto unpacked = unpack(codec, pack(codec, plain));
      ASSERT_TRUE(unpacked) << name(codec) << " " << size << " " << unpacked.error().text();
      EXPECT_EQ(*unpacked, plain) << name(codec) << " " << size;
    }
  }
}

TEST(Compression, AllowsExactlyTheBound) {
  const std::string plain = sample(100'000);
  for (const Compression codec : kCodecs) {
    const std::string packed = pack(codec, plain);
    EXPECT_TRUE(unpack(codec, packed, plain.size())) << name(codec);
    for (const std::size_t bytes_max : {std::size_t{0}, std::size_t{1}, plain.size() / 2, plain.size() - 1}) {
      const auto refused = unpack(codec, packed, bytes_max);
      ASSERT_FALSE(refused) << name(codec);
      EXPECT_EQ(refused.error().code, Code::too_large) << name(codec) << " " << bytes_max;
    }
  }
  EXPECT_EQ(unpack(Compression::none, "abc", 2).error().code, Code::too_large);
}

TEST(Compression, RefusesBombsWithoutTakingTheirMemory) {
  const std::string zeros(std::size_t{64} << 20, '\0');
  for (const Compression codec : kCodecs) {
    const std::string packed = pack(codec, zeros);
    Scratch out;
    constexpr std::size_t kMax = 1 << 20;
    const auto refused = decompress(codec, as_bytes(packed), 2, kMax, out);
    ASSERT_FALSE(refused) << name(codec);
    EXPECT_EQ(refused.error().code, Code::too_large) << name(codec);
    EXPECT_LE(out.capacity(), 2 * kMax) << name(codec);
  }
}

TEST(Compression, RefusesEveryTruncation) {
  const std::string plain = sample(3000);
  for (const Compression codec : kCodecs) {
    const std::string packed = pack(codec, plain);
    for (std::size_t size = 0; size < packed.size(); ++size) {
      const auto unpacked = unpack(codec, packed.substr(0, size));
      // snappy-java's stream may end behind its header and behind any block: then there is less, which the record count
      // tells.
      if (codec == Compression::snappy && unpacked && unpacked->empty() && size == 16) continue;
      ASSERT_FALSE(unpacked) << name(codec) << " " << size;
      EXPECT_EQ(unpacked.error().code, Code::corrupt) << name(codec) << " " << size;
    }
  }
}

TEST(Compression, SurvivesDamage) {
  std::mt19937 random(1);
  const std::string plain = sample(20'000);
  for (const Compression codec : kCodecs) {
    const std::string packed = pack(codec, plain);
    for (int round = 0; round < 300; ++round) {
      std::string damaged = packed;
      for (unsigned i = 0; i <= random() % 4; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
      const auto unpacked = unpack(codec, damaged, 1 << 20);
      EXPECT_LE(unpacked ? unpacked->size() : 0, std::size_t{1} << 20);
    }
  }
}

TEST(Compression, ReadsBareSnappy) {
  const std::string plain = sample(10'000);
  std::string packed;
  snappy::Compress(plain.data(), plain.size(), &packed);
  EXPECT_EQ(unpack(Compression::snappy, packed).value_or(""), plain);
  EXPECT_EQ(unpack(Compression::snappy, packed, 9'999).error().code, Code::too_large);
  // A length that its few bytes cannot have.
  EXPECT_EQ(unpack(Compression::snappy, std::string("\xFF\xFF\xFF\x07xx", 6), std::size_t{1} << 40).error().code,
            Code::corrupt);
}

TEST(Compression, ReadsSnappyStreamsBehindEachOther) {
  const std::string packed = pack(Compression::snappy, "first ") + pack(Compression::snappy, "second");
  EXPECT_EQ(unpack(Compression::snappy, packed).value_or(""), "first second");
}

TEST(Compression, ReadsGzipMembersBehindEachOtherAndIgnoresTheRest) {
  const std::string packed = pack(Compression::gzip, "first ") + pack(Compression::gzip, "second");
  EXPECT_EQ(unpack(Compression::gzip, packed).value_or(""), "first second");
  EXPECT_EQ(unpack(Compression::gzip, packed + std::string(9, '\0')).value_or(""), "first second");
}

TEST(Compression, ReadsZstdFramesBehindEachOther) {
  const std::string packed = pack(Compression::zstd, "first ") + pack(Compression::zstd, "second");
  EXPECT_EQ(unpack(Compression::zstd, packed).value_or(""), "first second");
  EXPECT_EQ(unpack(Compression::zstd, packed + "garbage").error().code, Code::corrupt);
}

// librdkafka and others pack streams without telling the size, and with blocks that depend on each other.
TEST(Compression, ReadsLz4OfOtherShapes) {
  const std::string plain = sample(300'000);
  for (const bool is_linked : {false, true}) {
    for (const bool has_checksum : {false, true}) {
      LZ4F_preferences_t preferences{};
      preferences.frameInfo.blockMode = is_linked ? LZ4F_blockLinked : LZ4F_blockIndependent;
      preferences.frameInfo.blockSizeID = LZ4F_max4MB;
      preferences.frameInfo.contentChecksumFlag = has_checksum ? LZ4F_contentChecksumEnabled : LZ4F_noContentChecksum;
      preferences.frameInfo.contentSize = has_checksum ? plain.size() : 0;
      std::string packed(LZ4F_compressFrameBound(plain.size(), &preferences), '\0');
      packed.resize(LZ4F_compressFrame(packed.data(), packed.size(), plain.data(), plain.size(), &preferences));
      EXPECT_EQ(unpack(Compression::lz4, packed).value_or(""), plain);
      EXPECT_EQ(unpack(Compression::lz4, packed, 1 << 24, 0).value_or(""), plain);
    }
  }
}

// Clients before 0.10 computed the checksum of the LZ4 header over its magic too (KAFKA-3160).
TEST(Compression, PassesOverTheHeaderChecksumOfOldLz4) {
  std::string packed = pack(Compression::lz4, sample(1000));
  packed[6] = static_cast<char>(packed[6] ^ 0x55);
  EXPECT_TRUE(unpack(Compression::lz4, packed, 1 << 20, 0));
  EXPECT_TRUE(unpack(Compression::lz4, packed, 1 << 20, 1));
  EXPECT_EQ(unpack(Compression::lz4, packed, 1 << 20, 2).error().code, Code::corrupt);
}

TEST(Compression, RefusesUnknownCodecs) {
  Scratch out;
  EXPECT_EQ(decompress(static_cast<Compression>(6), as_bytes("x"), 2, 10, out).error().code, Code::unsupported);
  EXPECT_EQ(compress(static_cast<Compression>(6), as_bytes("x"), out).error().code, Code::unsupported);
}

TEST(Scratch, KeepsContentWhenItGrows) {
  Scratch scratch;
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    const std::string piece(static_cast<std::size_t>(i % 97), static_cast<char>('a' + i % 26));
    scratch.append(as_bytes(piece));
    expected += piece;
  }
  EXPECT_EQ(as_text(scratch.bytes()), expected);
  const std::size_t capacity = scratch.capacity();
  scratch.clear();
  EXPECT_EQ(scratch.size(), 0u);
  EXPECT_EQ(scratch.capacity(), capacity);
}

}  // namespace
