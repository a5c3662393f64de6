// The model's moves and states in words, for the way to what went wrong.
#include <fmt/format.h>

#include <array>

#include "ha/model_space.h"

namespace holdfast::ha::model {
namespace {

std::string_view in_words(Input input) {
  constexpr std::array<std::string_view, 17> kWords = {
      "starts",
      "starts with an empty disk",
      "crashes",
      "is asked by a client, and takes its peer for dead",
      "takes its peer for gone",
      "tries again",
      "hears nothing from the witness",
      "has its tenure on disk",
      "has its tenure on disk, and crashes",
      "writes",
      "sends a beat",
      "sends its history",
      "is asked to hand over",
      "gives up handing over",
      "receives",
      "is promoted by force",
      "receives behind its tenure"};
  return kWords.at(static_cast<size_t>(input));
}

}  // namespace

std::string Space::describe(const Move& move) const {
  const std::string message =
      move.message == kNone ? std::string() : model::describe(messages_[move.message]);
  switch (move.kind) {
    case Move::Kind::Half:
      return fmt::format("the {} {}", to_string(move.half), in_words(move.input));
    case Move::Kind::Arrives:
      return message + " arrives";
    case Move::Kind::ArrivesTwice:
      return message + " arrives, and will again";
    case Move::Kind::ArrivesBehind:
      return message + " arrives, and is on disk after the tenure that was on its way";
    case Move::Kind::Lost:
      return message + " is lost";
    case Move::Kind::Answered:
      return message + " reaches the witness";
    case Move::Kind::WitnessForgets:
      return "the witness restarts without its record";
    case Move::Kind::WitnessRollsBack:
      return "the witness restarts with the record of the beginning";
    case Move::Kind::Forced:
      return fmt::format("the {} is promoted by force, and the other follows",
                         to_string(move.half));
  }
  return {};
}

std::string Space::describe(const State& state) const {
  std::string text;
  for (const Member member : {Member::Primary, Member::Backup}) {
    const Node& half = node(state, member);
    text += fmt::format("{}: ", to_string(member));
    text += half.protocol ? std::string(to_string(half.protocol->state())) : "down";
    if (half.is_active()) {
      const bool both = half.protocol->required() == Members::both();
      text += fmt::format(" in {}, {} required, {} acknowledged", half.protocol->epoch(),
                          both ? "both" : "one", half.protocol->acknowledged());
    }
    text += fmt::format(", promised {}, disk", half.disk.promised);
    for (size_t i = 0; i < half.disk.log.size(); ++i) {
      text += fmt::format(" {}w{}", half.disk.log.epoch_at(i), half.disk.log.write_at(i));
    }
    text += "; ";
  }
  const Record& record = ledgers_[state.ledger].record;
  return text + fmt::format("record {} with {}", record.epoch, record.in_sync.bits());
}

}  // namespace holdfast::ha::model
