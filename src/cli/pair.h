// holdfast ha: how the pair of controllers is, and what an operator does to it.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "holdfast/v1/pair.pb.h"

namespace holdfast::cli {

struct PairStatusOptions {
  Output output = Output::Table;
};
// Exit::Warned if it has problems or nobody is active.
Exit pair_status(const Session& session, const PairStatusOptions& options);

Exit switch_over(const Session& session);

struct PromoteOptions {
  bool force = false;
  bool lose_other = false;  // also if this half is known to have less, or nothing
};
// Without --force it says what may be lost, and does nothing.
Exit promote(const Session& session, const PromoteOptions& options);

struct DivergenceOptions {
  std::string file{};
  bool overwrite = false;  // what was written since, when replaying
  Output output = Output::Table;
};
Exit list_divergences(const Session& session, const DivergenceOptions& options);
Exit show_divergence(const Session& session, const DivergenceOptions& options);
Exit discard_divergence(const Session& session, const DivergenceOptions& options);
Exit replay_divergence(const Session& session, const DivergenceOptions& options);

// The texts of all that; no waiting.
struct PairText {
  Output output = Output::Table;
  WallTime now{};
  LastColumn last = LastColumn::Cut;
};
std::string render_pair(const v1::PairStatus& pair, const PairText& how);
// The one line of `holdfast status`; empty if there is no pair.
std::string pair_line(const v1::PairStatus& pair);
bool is_well(const v1::PairStatus& pair);
// What a forced promotion may lose, as far as this half knows.
std::string promotion_risk(const v1::PairStatus& pair);
std::string render_divergences(const v1::ListDivergencesResponse& list, const PairText& how);
// After a replay: what its file never had, and where that is.
std::string render_what_is_left(const v1::DivergenceFile& file);
std::string render_divergence(const v1::Divergence& divergence, const PairText& how);

}  // namespace holdfast::cli
