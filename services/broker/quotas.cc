#include "services/broker/quotas.h"

#include <algorithm>
#include <climits>

namespace tailrace::broker {
namespace {

// An entity with its samples, its place in the list and in the map, roughly.
constexpr std::size_t kEntityBytes = 600;

std::int32_t to_ms(std::int64_t ms) { return static_cast<std::int32_t>(std::min<std::int64_t>(ms, INT32_MAX)); }

}  // namespace

QuotaTable::QuotaTable(const Set& set) {
  for (const auto& [path, quota] : set) {
    if (quota.entity.ip) continue;
    put(QuotaType::produce, quota.entity, quota.producer_byte_rate);
    put(QuotaType::fetch, quota.entity, quota.consumer_byte_rate);
    put(QuotaType::request, quota.entity, quota.request_percentage);
    put(QuotaType::mutation, quota.entity, quota.controller_mutation_rate);
  }
}

void QuotaTable::put(QuotaType type, const node::QuotaEntity& entity, const std::optional<double>& bound) {
  if (!bound) return;
  const bool named_user = entity.user && entity.user->name;
  const bool named_client = entity.client_id && entity.client_id->name;
  std::size_t level = 6;
  if (entity.user) level = named_user ? 0 : 3;
  if (!entity.client_id)
    level += 2;
  else if (!named_client)
    level += 1;
  levels_[static_cast<std::size_t>(type)][level][{named_user ? *entity.user->name : std::string(),
                                                  named_client ? *entity.client_id->name : std::string()}] = *bound;
}

bool QuotaTable::has(QuotaType type) const {
  return std::ranges::any_of(levels_[static_cast<std::size_t>(type)], [](const Level& each) { return !each.empty(); });
}

std::optional<QuotaTable::Match> QuotaTable::find(QuotaType type, std::string_view user,
                                                  std::string_view client_id) const {
  const std::array<Level, kLevels>& levels = levels_[static_cast<std::size_t>(type)];
  const auto bound = [&](std::size_t level, std::string_view u, std::string_view c) -> const double* {
    if (levels[level].empty()) return nullptr;
    const auto found = levels[level].find(std::pair{u, c});
    return found == levels[level].end() ? nullptr : &found->second;
  };
  if (const double* const at = bound(0, user, client_id)) return Match{*at, true, true};
  if (const double* const at = bound(1, user, {})) return Match{*at, true, true};
  if (const double* const at = bound(2, user, {})) return Match{*at, true, false};
  if (const double* const at = bound(3, {}, client_id)) return Match{*at, true, true};
  if (const double* const at = bound(4, {}, {})) return Match{*at, true, true};
  if (const double* const at = bound(5, {}, {})) return Match{*at, true, false};
  if (const double* const at = bound(6, {}, client_id)) return Match{*at, false, true};
  if (const double* const at = bound(7, {}, {})) return Match{*at, false, true};
  return std::nullopt;
}

void Quotas::use(std::shared_ptr<const QuotaTable::Set> set) {
  if (set == set_) return;
  set_ = std::move(set);
  table_ = set_ == nullptr ? QuotaTable() : QuotaTable(*set_);
}

std::size_t Quotas::bytes_of(const std::string& key) { return kEntityBytes + key.size(); }

void Quotas::forget(Entities::iterator entity) {
  bytes_ -= bytes_of(entity->first);
  by_use_.erase(entity->second.place);
  entities_.erase(entity);
}

Quotas::Entity* Quotas::find(QuotaType type, const Client& client) {
  const std::optional<QuotaTable::Match> match = table_.find(type, client.user, client.id);
  if (!match) return nullptr;
  key_.assign(1, static_cast<char>(type));
  if (match->by_user) key_ += client.user;
  key_ += '\0';
  if (match->by_client) key_ += client.id;
  auto [entity, is_new] = entities_.try_emplace(key_);
  if (is_new) {
    entity->second.type = type;
    entity->second.place = by_use_.insert(by_use_.end(), &entity->first);
    bytes_ += bytes_of(entity->first);
    while (bytes_ > kBytesMax && entities_.size() > 1) forget(entities_.find(*by_use_.front()));
  } else {
    by_use_.splice(by_use_.end(), by_use_, entity->second.place);
  }
  entity->second.bound = match->bound;
  return &entity->second;
}

std::int32_t Quotas::record(QuotaType type, const Client& client, double amount, TimestampMs now) {
  if (!has(type)) return 0;
  Entity* const entity = find(type, client);
  if (entity == nullptr) return 0;
  if (type == QuotaType::mutation) {
    entity->bucket.take(amount, entity->bound, now, mutations_);
    return to_ms(entity->bucket.throttle_ms(entity->bound, now, mutations_));
  }
  entity->rate.record(amount, now, windows_);
  const std::int64_t throttle_ms = entity->rate.throttle_ms(entity->bound, now, windows_);
  // A request that took long does not mute for longer than a window (ClientRequestQuotaManager).
  return to_ms(type == QuotaType::request ? std::min(throttle_ms, windows_.window_ms) : throttle_ms);
}

Quotas::FetchVerdict Quotas::record_fetch(const Client& client, double bytes, TimestampMs now) {
  if (!has(QuotaType::fetch)) return {};
  Entity* const entity = find(QuotaType::fetch, client);
  if (entity == nullptr) return {};
  const bool is_first = entity->rate.per_second(now, windows_) <= 0;
  entity->rate.record(bytes, now, windows_);
  const FetchVerdict verdict{.throttle_ms = to_ms(entity->rate.throttle_ms(entity->bound, now, windows_))};
  if (verdict.throttle_ms == 0 || is_first) return verdict;
  entity->rate.record(-bytes, now, windows_);
  return {.throttle_ms = verdict.throttle_ms, .is_sent = false};
}

std::optional<double> Quotas::fetch_bytes_max(const Client& client) const {
  if (!has(QuotaType::fetch)) return std::nullopt;
  const std::optional<QuotaTable::Match> match = table_.find(QuotaType::fetch, client.user, client.id);
  if (!match) return std::nullopt;
  return match->bound * static_cast<double>((windows_.count - 1) * windows_.window_ms) / 1000;
}

std::int32_t Quotas::take_mutations(const Client& client, double partitions, TimestampMs now) {
  if (!has(QuotaType::mutation)) return 0;
  Entity* const entity = find(QuotaType::mutation, client);
  if (entity == nullptr) return 0;
  const std::int64_t throttle_ms = entity->bucket.throttle_ms(entity->bound, now, mutations_);
  if (throttle_ms == 0) entity->bucket.take(partitions, entity->bound, now, mutations_);
  return to_ms(throttle_ms);
}

void Quotas::forget_idle(TimestampMs now) {
  for (auto each = entities_.begin(); each != entities_.end();) {
    Entity& entity = each->second;
    const bool is_idle = entity.type == QuotaType::mutation ? entity.bucket.is_idle(entity.bound, now, mutations_)
                                                            : entity.rate.is_idle(now, windows_);
    const auto next = std::next(each);
    if (is_idle) forget(each);
    each = next;
  }
}

}  // namespace tailrace::broker
