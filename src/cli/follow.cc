#include "cli/follow.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "cli/output.h"

namespace holdfast::cli {
namespace {

constexpr auto kPause = std::chrono::milliseconds(250);

bool may_come_back(const Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace

Status follow(const Session& session, v1::WatchRequest request,
              const std::function<bool(const v1::Event&)>& on_event) {
  const SystemClock clock;
  bool begun = false;
  int64_t seen = request.after_revision();
  std::optional<Time> give_up_at;  // while it is cut off
  const auto take = [&](const v1::Event& event) {
    const bool again = begun && event.type() == v1::EVENT_TYPE_INIT;
    begun = true;
    give_up_at.reset();
    const bool more = again || on_event(event);
    seen = std::max(seen, event.revision());
    return more;
  };
  for (;;) {
    const Status status = session.client.watch(request, take);
    if (!begun || !may_come_back(status)) return status;
    if (!give_up_at) {
      give_up_at = clock.now() + session.client.patience();
      print_err(fmt::format("connection lost; following again from revision {}\n", seen));
    }
    if (clock.now() >= *give_up_at) return status;
    request.set_after_revision(seen);
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace holdfast::cli
