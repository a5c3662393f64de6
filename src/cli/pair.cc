#include "cli/pair.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "cli/output.h"
#include "cli/reasons.h"
#include "cli/times.h"

namespace holdfast::cli {
namespace {

constexpr int kMaxPages = 10'000;

PairText text_for(const Session& session, Output output) {
  return {.output = output, .now = SystemClock().wall_now(), .last = session.console.last_column()};
}

Exit resolve(const Session& session, v1::ResolveDivergenceRequest::Way way,
             const DivergenceOptions& options, std::string_view done) {
  v1::ResolveDivergenceRequest request;
  request.set_file(options.file);
  request.set_way(way);
  request.set_overwrite(options.overwrite);
  const auto answer = session.client.pair(&PairCalls::ResolveDivergence, request);
  if (!answer.ok()) return session.failed(answer.status());
  print_out(fmt::format("{} {}: {} written, {} in conflict\n", printable(options.file), done,
                        answer->written(), answer->skipped()));
  if (!answer->kept()) return Exit::Ok;
  print_out("the file is kept; --overwrite replaces what was written since, discard gives it up\n");
  return Exit::Warned;
}

}  // namespace

Exit pair_status(const Session& session, const PairStatusOptions& options) {
  const auto pair = session.client.pair(&PairCalls::GetPair, {});
  if (!pair.ok()) return session.failed(pair.status());
  print_out(render_pair(*pair, text_for(session, options.output)));
  return is_well(*pair) ? Exit::Ok : Exit::Warned;
}

Exit switch_over(const Session& session) {
  const auto done = session.client.pair(&PairCalls::SwitchOver, {});
  if (!done.ok()) return session.failed(done.status());
  print_out(fmt::format("{} is active, epoch {}; it took {}\n", printable(done->active()),
                        done->epoch(), to_short_string(to_duration(done->took()))));
  return Exit::Ok;
}

Exit promote(const Session& session, const PromoteOptions& options) {
  if (!options.force) {
    const auto pair = session.client.pair(&PairCalls::GetPair, {});
    if (!pair.ok()) return session.failed(pair.status());
    return session.console.report(
        {Exit::Usage, "HF4130", promotion_risk(*pair), std::string(find_reason("HF4130")->next)});
  }
  v1::PromoteRequest request;
  request.set_force(true);
  const auto done = session.client.pair(&PairCalls::Promote, request);
  if (!done.ok()) return session.failed(done.status());
  print_out(fmt::format("this half is active, alone, epoch {}\n", done->epoch()));
  return Exit::Ok;
}

Exit list_divergences(const Session& session, const DivergenceOptions& options) {
  const auto list = session.client.pair(&PairCalls::ListDivergences, {});
  if (!list.ok()) return session.failed(list.status());
  print_out(render_divergences(*list, text_for(session, options.output)));
  return Exit::Ok;
}

Exit show_divergence(const Session& session, const DivergenceOptions& options) {
  v1::GetDivergenceRequest request;
  request.set_file(options.file);
  v1::Divergence whole;
  for (int page = 0; page < kMaxPages; ++page) {
    const auto part = session.client.pair(&PairCalls::GetDivergence, request);
    if (!part.ok()) return session.failed(part.status());
    *whole.mutable_file() = part->file();
    whole.mutable_changes()->MergeFrom(part->changes());
    if (part->next() <= request.after()) break;
    request.set_after(part->next());
  }
  print_out(render_divergence(whole, text_for(session, options.output)));
  return Exit::Ok;
}

Exit discard_divergence(const Session& session, const DivergenceOptions& options) {
  return resolve(session, v1::ResolveDivergenceRequest::WAY_DISCARD, options, "discarded");
}

Exit replay_divergence(const Session& session, const DivergenceOptions& options) {
  return resolve(session, v1::ResolveDivergenceRequest::WAY_REPLAY, options, "replayed");
}

}  // namespace holdfast::cli
