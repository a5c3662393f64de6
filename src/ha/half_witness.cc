// What a half makes of its own witness for people to see. It decides nothing by it.
#include <fmt/format.h>

#include "base/reason.h"
#include "ha/half.h"

namespace holdfast::ha {
namespace {

// A record changes between a question and the next beat; not for so many beats, which are three
// probes.
constexpr int kDiffersBeats = 60;
// What cannot be written is tried again while it is wanted; after that nobody knows.
constexpr int kErrorBeats = 600;

}  // namespace

void Half::note_witness(const Result<WitnessAnswer>& said, Time now) {
  if (!said.ok()) {
    const bool answered = split_reason(said.status()).code.starts_with("HF42");
    witness_error_ = answered ? said.status() : absl::OkStatus();
    witness_error_at_ = now;
    return;
  }
  // To read is not to write.
  if (said->accepted) witness_error_ = absl::OkStatus();
  witness_record_ = said->current;
  const bool follows = !is_active() && peer_ && peer_->facts.state == State::Active;
  const bool differs = follows && peer_->facts.record.epoch != witness_record_->epoch;
  if (!differs) witness_differs_.reset();
  if (differs && !witness_differs_) witness_differs_ = now;
}

// What the active half is told by the witness is not what this one is told.
bool Half::has_other_witness(Time now) const {
  const bool follows = !is_active() && peer_ && peer_->facts.state == State::Active;
  return options_.pair.mode == Mode::Witness && follows && peer_alive(now) && witness_differs_ &&
         now - *witness_differs_ >= kDiffersBeats * options_.timing.beat;
}

Status Half::witness_error(Time now) const {
  const bool lately = now - witness_error_at_ < kErrorBeats * options_.timing.beat;
  return lately ? witness_error_ : absl::OkStatus();
}

}  // namespace holdfast::ha
