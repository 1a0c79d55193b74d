#!/usr/bin/env bash
# Does the simulation find bugs? Plants one after the other into a copy of the sources, builds sim_test (or sim_groups_test) there, and expects it to fail.
#   tests/sim/mutants.sh [SEEDS] [NAME...]      (600 seeds; all mutants)
# Prints a line for each with the seed that found it. Exit status 1: one was not found, or its place in the sources is gone.
set -euo pipefail
root=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../..")
seeds=${1:-600}
shift || true
wanted=" $* "
work=$(mktemp -d "${TMPDIR:-/tmp}/tailrace-mutants-XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/source"
(cd "$root" && tar cf - --exclude=./build --exclude=./.git --exclude=./tests/golden .) | tar xf - -C "$work/source"
failed=0

program=sim_test  # that is to fail from here on

build() { ninja -C "$work/build" -j"$(nproc)" "$@" > "$work/build.log" 2>&1 || { tail -20 "$work/build.log" >&2; return 1; }; }

# mutant NAME FILE PERL-SUBSTITUTION
mutant() {
  local name=$1 file=$2 substitution=$3
  [ "$wanted" = "  " ] || [[ $wanted == *" $name "* ]] || return 0
  cp "$work/source/$file" "$work/unchanged"
  perl -0pi -e "$substitution" "$work/source/$file"
  if cmp -s "$work/unchanged" "$work/source/$file"; then
    printf '%-28s its place in %s is gone\n' "$name" "$file"
    failed=1
    return
  fi
  local found
  if ! build $program; then
    found='does not build'
    failed=1
  elif timeout 900 "$work/build/$program" --seeds "$seeds" > "$work/out" 2>&1; then
    found="NOT FOUND in $seeds seeds"
    failed=1
  else
    found=$(grep -a -o '^seed [0-9]*: .*' "$work/out" | tail -1 || true)
    [ -n "$found" ] || found=$(grep -a -o '^seed [0-9]* failed' "$work/out" | tail -1 || true)
  fi
  printf '%-28s %s\n' "$name" "$found"
  cp "$work/unchanged" "$work/source/$file"
}

cmake -G Ninja -B "$work/build" -S "$work/source" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS=-O1 > "$work/cmake.log" 2>&1
build sim_test sim_groups_test
for unchanged in sim_test sim_groups_test; do
  "$work/build/$unchanged" --seeds 50 > "$work/out" 2>&1 || { tail -3 "$work/out"; echo 'the sources as they are fail' >&2; exit 1; }
done

appends=engine/server/appends.cc
mutant acknowledged_early $appends 's/\.end = outcome->end_offset/.end = outcome->base_offset/'
mutant watermark_when_staged $appends 's/if \(outcome->duplicate\) advance\(\*hosted, partition\.high_watermark\(\)\)/advance(*hosted, partition.log().end_offset())/'
mutant no_sync $appends 's/if \(settings_\.durability == Durability::memory\) return advance/if (true) return advance/'
mutant stop_during_sync $appends 's/ \|\| !hosted->partition->log\(\)\.needs_sync\(\)\) continue;\n    hosted->syncing/) continue;\n    hosted->syncing/'
mutant session_let_go_early engine/server/shard_parts.h 's/    staged_from\.push_back\(session\.shared_from_this\(\)\);\n//'
mutant recovery_point_too_high engine/server/partitions.cc 's/\.recovery_point = partition\.log\(\)\.recovery_point\(\)/.recovery_point = partition.log().end_offset()/'
mutant watch_at_log_end $appends 's/take_readable\(partition\.high_watermark\(\), partition\.last_stable_offset\(\)/take_readable(partition.log().end_offset(), partition.log().end_offset()/'
mutant no_directory_sync_on_roll engine/log/log.cc 's/  if \(done && names == Names::durable\) done = files_\.sync_directory\(directory_\);\n//'
mutant no_directory_sync_on_create engine/server/partitions.cc 's/    if \(settling\.is_new\) settle_name\(\*hosted\);\n//'
mutant requests_before_recovery_is_durable engine/server/partitions.cc 's/  if \(in_flight_ > 0\) return false;\n//'
mutant no_directory_sync_on_start engine/server/data_directory.cc 's/  if \(Result<void> synced = files_\.sync_directory\(path_\); !synced\) return std::unexpected\(synced\.error\(\)\);\n  return found/  return found/'
mutant no_directory_sync_on_delete engine/server/partitions.cc 's/    if \(removed\) \{\n      return wait_settled\(session, \*found->second, \{[^}]*\}\);\n    \}\n//; s/  hosted\.settling = std::make_unique<Settling>\(\);\n  settle_name\(hosted\);\n  return/  return/'
mutant window_off_by_one engine/partition/producers.cc 's/if \(state\.batches\.size\(\) == ProducerState::kBatchesMax\)/if (state.batches.size() == ProducerState::kBatchesMax - 1)/'
mutant producers_forgotten engine/partition/partition.cc 's/producers_\.clear\(\);\n/producers_.clear();\n  if (log_->end_offset() >= 0) return {};\n/'
mutant log_start_seen_early engine/server/retention.cc 's/  hosted\.wanted_log_start = offset;\n/  hosted.wanted_log_start = offset;\n  move_log_start(hosted, offset);\n/'
mutant torn_batch_kept engine/log/recovery.cc 's/  if \(auto done = segment\.cut_to_size\(\); !done\) return std::unexpected\(done\.error\(\)\);\n//'
mutant no_checksum_in_recovery engine/log/recovery.cc 's/!crc_is_valid\(batch, \*bytes\)/false/'
mutant gap_kept engine/log/recovery.cc 's/gaps_are_losses && segment/gaps_are_losses && false && segment/'
mutant index_off_by_one_batch engine/log/segment.cc 's/offsets_\.append\(place\.last_offset, place\.position\)/offsets_.append(place.last_offset, place.position + place.size_bytes)/'
mutant end_not_rolled_back engine/log/append.cc 's/  end_offset_ = written_end_;\n  needs_repair_/  needs_repair_/'
# No mutant for the cut behind a failed write (Log::repair): what is left passes for a batch only where a batch of the same size and
# record count by another producer took the place of the one before it, and the crash comes before the next write. Not met in 3,000
# seeds; log_append_test looks at the file.
mutant sync_after_failed_sync engine/log/append.cc 's/ +has_failed_sync_ = true;\n//g'
mutant not_written_again engine/log/append.cc 's/segment\.write_again\(durable_end_\)/(static_cast<void>(segment), Result<void>())/'
mutant bytes_given_back_early $appends 's/if \(!hosted\.writing && !hosted\.in_staged_list\) fail_lost/fail_lost/'
mutant producers_not_taken_back engine/partition/partition.cc 's/  for \(; !undo_\.empty\(\)[^\n]*\n/  undo_.clear();\n/'
# Nor for the removal of snapshots beyond the end: a wrong one does harm only when the log has grown past it before the next roll or
# stop writes a newer one, and a crash comes in between. partition_storage_errors_test looks at the files.

# Groups.
program=sim_groups_test
coordinator=services/groupcoord
mutant answered_before_durable $coordinator/partition_log.cc 's/  if \(records\.empty\(\) && is_clear\) \{\n(.*?\n)    return;\n  \}/$1  replies.clear();\n  if (records.empty()) return;/s; s/const bool is_clear/[[maybe_unused]] const bool is_clear/'
mutant read_before_durable $coordinator/partition_log.cc 's/records\.empty\(\) && is_clear\)/records.empty())/; s/const bool is_clear/[[maybe_unused]] const bool is_clear/'
mutant lost_append_ignored $coordinator/partition_log.cc 's/(name\(static_cast<Code>\(answer\.code\)\)\);\n) +return lose\(\);/$1/'
# No mutant for a coordinator that does not wait for what the one before it has written: it needs a sync that outlasts the start of the next one, and a decision that
# contradicts. Met once in some thousand seeds; groupcoord_partition_log_test has it.
mutant generation_not_raised $coordinator/classic_rebalance.cc 's/\? 0 : generation_ \+ 1/? 0 : std::max(generation_, 1)/'
mutant follower_not_told $coordinator/classic_presence.cc 's/state_ == ClassicState::preparing_rebalance;\n  answer/state_ == ClassicState::empty;\n  answer/'
mutant stale_generation_commits $coordinator/classic_presence.cc 's/if \(who\.generation != generation_\)/if (who.generation > generation_)/'
mutant stranger_commits $coordinator/classic_presence.cc 's/(on_commit.*?)if \(error != ErrorCode::NONE\) return error;/$1if (error == ErrorCode::FENCED_INSTANCE_ID) return error;/s; s/keep_alive\(\*members_\.find\(who\.member_id\), moment\);\n  return/static_cast<void>(moment);\n  return/'
mutant sessions_lost_on_restart $coordinator/consumer_group.cc 's/    set_timer\(Timer::session, id, session_timeout\(\), moment\);\n//'
mutant classic_sessions_lost_on_restart $coordinator/classic_record.cc 's/  for \(const auto& \[id, member\] : members_\.all\(\)\) keep_alive\(\*member, moment\);\n(  if \(members_\.size\(\) > )/$1/'
mutant given_before_revoked $coordinator/reconciliation.cc 's/input\.current\.is_owned\(topic, partition\) && /false \&\& /'
mutant revocation_not_awaited $coordinator/reconciliation.cc 's/if \(!now\.lost\.empty\(\) && has_any_of\(input\.owned, now\.lost\)\)/if (now.lost.size() > 100)/'
mutant member_stays_behind $coordinator/consumer_update.cc 's/  if \(next == \*current\) return;\n/  if (next == *current || (current->epoch > 0 \&\& next.epoch > current->epoch + 1)) return;\n/'
mutant stale_epoch_commits $coordinator/consumer_group.cc 's/if \(who\.generation >= member->epoch\) return ErrorCode::NONE;/return ErrorCode::NONE;/'
mutant last_answer_must_arrive $coordinator/consumer_heartbeat.cc 's/!is_newer && received == member\.previous_epoch/false/'
mutant owners_not_loaded $coordinator/consumer_fold.cc 's/  partition_epochs_\.add\(member\.revoking, member\.epoch\);\n//; s/  partition_epochs_\.remove\(member\.revoking, member\.epoch\);\n//'
mutant older_offset_kept $coordinator/partition_offsets.cc 's/    runs_\[place\.run\]\[place\.at\] = std::move\(committed\);\n//'
mutant upgrade_forgets_who_has_what $coordinator/conversion.cc 's/must_rebalance \? held_by\(from\) : target_\.of\(member_id\)/must_rebalance ? target_.of(member_id) : held_by(from)/'
exit $failed
