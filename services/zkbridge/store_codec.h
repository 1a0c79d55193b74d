// The bytes of the local store: the journal of transactions and the checkpoint of the tree (docs/formats.md). PURE.
//
// Journal: a header of 32 bytes, then records, each at a multiple of 8:
//   magic u32 | body length u32 | XXH3 of the body, seeded with the record's position, u64 | body | zeros up to 8
//   body: journal bytes known durable when it was written u64 | zxid u64 | time u64 | session u64 | count u32 |
//   operations
// Numbers are big-endian. The seed ties a record to its place. The durable length tells a torn tail from damage: bytes
// that a later record calls durable were once safe on the disk, so when they do not read any more, the disk lost them.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "services/zkbridge/tree.h"

namespace tailrace::zkbridge {

constexpr std::size_t kJournalHeaderBytes = 32;
constexpr std::size_t kJournalRecordBytesMax = 64u << 20;

std::string journal_header();
bool is_journal_header(Bytes bytes);
// The record of `transaction` at `position`.
std::string journal_record(const Transaction& transaction, std::uint64_t position, std::uint64_t durable_end);

struct JournalContent {
  std::vector<Transaction> transactions;
  std::uint64_t end = 0;  // where the next record goes; bytes behind it are a torn tail
};
// `journal` is the whole file with its header. Error: what is damaged and where.
std::expected<JournalContent, std::string> read_journal(Bytes journal);

struct Checkpoint {
  std::int64_t zxid = 0;     // of the last transaction in it
  std::int64_t session = 0;  // the last session
  std::vector<TreeNode> nodes;
};
std::string encode_checkpoint(const Checkpoint& checkpoint);
std::expected<Checkpoint, std::string> decode_checkpoint(Bytes bytes);

}  // namespace tailrace::zkbridge
