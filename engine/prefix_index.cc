#include "engine/prefix_index.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <utility>

#include "base/check.h"

namespace weft {
namespace {

// SipHash-1-3 (Aumasson and Bernstein, 2012) over whole words, with a key that nobody outside
// knows: no client can choose tokens that all fall into one bucket.
class SipHash {
 public:
  explicit SipHash(const std::array<uint64_t, 2>& key)
      : v0_(key[0] ^ 0x736F6D6570736575),
        v1_(key[1] ^ 0x646F72616E646F6D),
        v2_(key[0] ^ 0x6C7967656E657261),
        v3_(key[1] ^ 0x7465646279746573) {}

  void Add(uint64_t word) {
    v3_ ^= word;
    Round();
    v0_ ^= word;
  }

  uint64_t Finish() {
    v2_ ^= 0xFF;
    for (int i = 0; i < 3; ++i) Round();
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  void Round() {
    v0_ += v1_;
    v2_ += v3_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v1_;
    v0_ += v3_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ = std::rotl(v2_, 32);
  }

  uint64_t v0_, v1_, v2_, v3_;
};

std::array<uint64_t, 2> RandomHashKey() {
  std::random_device device;
  const auto word = [&] { return uint64_t{device()} << 32 | device(); };
  return {word(), word()};
}

}  // namespace

PrefixIndex::PrefixIndex(int32_t block_count, int32_t block_size, uint32_t bucket_count)
    : block_size_(static_cast<size_t>(block_size)),
      entries_(static_cast<size_t>(block_count)),
      tokens_(entries_.size() * block_size_),
      buckets_(bucket_count > 0 ? bucket_count : std::bit_ceil(static_cast<uint32_t>(block_count)),
               kNone),
      hash_key_(RandomHashKey()) {
  WEFT_CHECK(block_count > 0 && block_size > 0 && std::has_single_bit(buckets_.size()));
}

int64_t PrefixIndex::BytesPerBlock(int64_t block_size) {
  constexpr auto kMostBuckets = static_cast<int64_t>(2 * sizeof(int32_t));  // a power of two
  return static_cast<int64_t>(sizeof(Entry)) + kMostBuckets +
         block_size * static_cast<int64_t>(sizeof(TokenId));
}

std::span<const TokenId> PrefixIndex::TokensOf(int32_t block) const {
  return std::span(tokens_).subspan(static_cast<size_t>(block) * block_size_, block_size_);
}

BlockContent PrefixIndex::content(int32_t block) const {
  const Entry& entry = EntryOf(block);
  WEFT_CHECK(entry.id != kNoContent);
  return {.parent = entry.parent, .salt = entry.salt, .tokens = TokensOf(block)};
}

uint32_t PrefixIndex::BucketOf(const BlockContent& content) const {
  SipHash hash(hash_key_);
  hash.Add(content.parent);
  std::array<uint64_t, sizeof(CacheSalt) / 8> salt{};
  std::memcpy(salt.data(), content.salt.data(), sizeof(CacheSalt));
  for (const uint64_t word : salt) hash.Add(word);
  for (size_t i = 0; i < content.tokens.size(); i += 2) {
    uint64_t pair = 0;
    std::memcpy(&pair, &content.tokens[i],
                std::min<size_t>(2, content.tokens.size() - i) * sizeof(TokenId));
    hash.Add(pair);
  }
  return static_cast<uint32_t>(hash.Finish() & (buckets_.size() - 1));
}

std::optional<int32_t> PrefixIndex::Find(const BlockContent& content) const {
  WEFT_CHECK(content.tokens.size() == block_size_);
  for (int32_t block = buckets_[BucketOf(content)]; block != kNone;
       block = EntryOf(block).next_in_bucket) {
    const Entry& entry = EntryOf(block);
    if (entry.parent == content.parent && entry.salt == content.salt &&
        std::ranges::equal(TokensOf(block), content.tokens)) {
      return block;
    }
  }
  return std::nullopt;
}

void PrefixIndex::Insert(int32_t block, const BlockContent& content) {
  WEFT_CHECK(content.tokens.size() == block_size_);
  Entry& entry = EntryOf(block);
  WEFT_CHECK(entry.id == kNoContent);
  const uint32_t bucket = BucketOf(content);
  entry = {.id = ++last_id_,
           .parent = content.parent,
           .salt = content.salt,
           .bucket = bucket,
           .next_in_bucket = std::exchange(buckets_[bucket], block)};
  std::ranges::copy(content.tokens, tokens_.begin() + std::ssize(content.tokens) * block);
}

void PrefixIndex::Erase(int32_t block) {
  Entry& entry = EntryOf(block);
  WEFT_CHECK(entry.id != kNoContent);
  int32_t* link = &buckets_[entry.bucket];
  while (*link != block) link = &EntryOf(*link).next_in_bucket;
  *link = entry.next_in_bucket;
  entry = {};
}

}  // namespace weft
