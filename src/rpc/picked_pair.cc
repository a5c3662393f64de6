// The part of PickHealthyService that knows of pairs: what calls carry, and what their answers say
// of the half that gave them.
#include <algorithm>

#include "base/reason.h"
#include "rpc/pick_healthy_service.h"

namespace holdfast::rpc {

std::vector<std::pair<std::string, std::string>> PickHealthyService::greeting() const {
  const uint64_t highest = options_.fence.highest ? options_.fence.highest() : 0;
  if (highest == 0) return {};
  return {{kEpochKey, std::to_string(highest)}};
}

CallOptions PickHealthyService::own_options(const Connection& connection, Duration timeout) {
  return {.timeout = timeout,
          .metadata = greeting(),
          .admit = [this, id = connection.id](const grpc::ClientContext& context,
                                              const Status& answer) {
            return admit(id, context, answer);
          }};
}

CallOptions PickHealthyService::stream_options(const Pinned& connection) {
  constexpr Duration kNoLimit{0};
  return own_options(*connection, kNoLimit);
}

// An error is looked at only if it says whose it is: gRPC makes errors too. A half that says it
// does not serve asks for nothing to be done, whatever its epoch, and knows who does.
Status PickHealthyService::admit(uint64_t connection_id, const grpc::ClientContext& context,
                                 const Status& answer) {
  const uint64_t epoch = epoch_in(context.GetServerInitialMetadata());
  if (is_not_active(answer)) {
    constexpr uint64_t kSomeEpoch = 1;  // it has one, whether it said so or not
    note_pair(connection_id, std::max(epoch, kSomeEpoch));
    const std::string active = active_in(context.GetServerTrailingMetadata());
    carry_out(core_.on_not_active(connection_id, active, clock_.now()));
    return answer;
  }
  if (answer.ok() || epoch != 0) {
    const Status admitted = admit_epoch(connection_id, epoch);
    if (!admitted.ok()) return admitted;
  }
  return answer;
}

Status PickHealthyService::admit_epoch(uint64_t connection_id, uint64_t epoch) {
  note_pair(connection_id, epoch);
  if (!options_.fence.admit) return absl::OkStatus();
  Status admitted = options_.fence.admit(epoch);
  if (!admitted.ok()) {
    last_failure_ = std::string(admitted.message());
    carry_out(core_.on_fenced(connection_id, clock_.now()));
  }
  return admitted;
}

void PickHealthyService::note_pair(uint64_t connection_id, uint64_t epoch) {
  if (epoch == 0 || !held_.contains(connection_id)) return;
  if (!paired_.insert(connection_id).second) return;
  carry_out(core_.on_paired(connection_id, clock_.now()));
}

void PickHealthyService::expect_beats(const Connection& connection, const Metadata& metadata) {
  const Duration beat = beat_in(metadata);
  if (beat == Duration::zero()) return;
  carry_out(core_.on_beats(connection.id, beat, clock_.now()));
}

}  // namespace holdfast::rpc
