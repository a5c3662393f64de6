// The rows of the table of keys that are about a pair of controllers and its witness. Only keys.cc
// includes it.
#pragma once

#include <array>
#include <string_view>

#include "config/addresses.h"
#include "config/key_rows.h"
#include "config/keys.h"
#include "resource/text_rules.h"

namespace holdfast::config {

inline constexpr std::array<std::string_view, 3> kHaRoles = {"none", "primary", "backup"};
inline constexpr std::array<std::string_view, 3> kHaModes = {"best-effort", "sync", "witness"};

inline constexpr auto kHaKeys = std::to_array<Key>({
    {.path = "ha.role",
     .type = Type::Choice,
     .fallback = "none",
     .doc = "Which half of a pair of controllers this one is; each pair has one of both.",
     .assign = into<&Config::ha, &HaConfig::role>,
     .words = kHaRoles},
    {.path = "ha.peer",
     .doc =
         "HOST:PORT of the other half's gRPC API. Only with it is this controller one of a pair.",
     .assign = into<&Config::ha, &HaConfig::peer>,
     .rule = resource::wrong_address,
     .may_be_empty = true},
    {.path = "ha.mode",
     .type = Type::Choice,
     .fallback = "witness",
     .doc = "When a write is acknowledged: best-effort on one disk, sync on both and never alone, "
            "witness on the disks of all that are in sync by the record of a third process.",
     .assign = into<&Config::ha, &HaConfig::mode>,
     .words = kHaModes},
    {.path = "ha.witness",
     .doc = "HOST:PORT of the witness; ha.mode witness needs it.",
     .assign = into<&Config::ha, &HaConfig::witness>,
     .rule = resource::wrong_address,
     .may_be_empty = true},
    {.path = "ha.beat",
     .type = Type::Time,
     .fallback = "100ms",
     .doc = "How often the halves say that they are there.",
     .assign = into<&Config::ha, &HaConfig::beat>,
     .range = {10 * kMillisecond, 1 * kMinute}},
    {.path = "ha.lease",
     .type = Type::Time,
     .fallback = "600ms",
     .doc = "How long an active half answers reads after a beat that the other half has heard.",
     .assign = into<&Config::ha, &HaConfig::lease>,
     .range = {10 * kMillisecond, 1 * kHour}},
    {.path = "ha.drop",
     .type = Type::Time,
     .fallback = "700ms",
     .doc = "An active half goes on without one that was silent for this long.",
     .assign = into<&Config::ha, &HaConfig::drop>,
     .range = {10 * kMillisecond, 1 * kHour}},
    {.path = "ha.take",
     .type = Type::Time,
     .fallback = "1s",
     .doc = "A passive half takes over from one that was silent for this long, when a client asks.",
     .assign = into<&Config::ha, &HaConfig::take>,
     .range = {10 * kMillisecond, 1 * kHour}},
    {.path = "ha.skew",
     .type = Type::Time,
     .fallback = "100ms",
     .doc = "How much later than the primary the backup takes over.",
     .assign = into<&Config::ha, &HaConfig::skew>,
     .range = {10 * kMillisecond, 1 * kHour}},
    {.path = "ha.witness_timeout",
     .type = Type::Time,
     .fallback = "500ms",
     .doc = "A witness that has not answered after this long is asked again.",
     .assign = into<&Config::ha, &HaConfig::witness_timeout>,
     .range = {10 * kMillisecond, 1 * kMinute}},
    {.path = "ha.vote_patience",
     .type = Type::Time,
     .fallback = "2s",
     .doc = "How long a client's call waits for a half to become active before it is sent away.",
     .assign = into<&Config::ha, &HaConfig::vote_patience>,
     .range = {10 * kMillisecond, 1 * kHour}},
    {.path = "ha.recovery",
     .type = Type::Time,
     .fallback = "0s",
     .doc = "An active backup gives control back to a primary that was there and in sync for this "
            "long; 0s: never by itself.",
     .assign = into<&Config::ha, &HaConfig::recovery>,
     .range = {0, 1 * kDay}},
    {.path = "witness.listen",
     .doc = "Address at which the controllers of a pair reach their record, if this process keeps "
            "it; \"\" if it does not. `holdfastd witness` uses 0.0.0.0:7461 unless told.",
     .assign = into<&Config::witness, &WitnessSection::listen>,
     .rule = wrong_listen_address,
     .may_be_empty = true,
     .roles = kForNodes},
});

}  // namespace holdfast::config
