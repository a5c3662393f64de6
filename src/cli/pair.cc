#include "cli/pair.h"

#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <memory>
#include <vector>

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

// Each half, asked itself: a file is on the disk of the half whose history lost. By a socket it is
// the one of this machine alone.
std::vector<std::unique_ptr<Client>> halves_of(const Session& session) {
  std::vector<std::string> addresses = absl::StrSplit(session.client.server(), ',');
  const bool local = session.client.server().starts_with("unix:");
  const auto pair = session.client.pair(&PairCalls::GetPair, {});
  const bool told = pair.ok() && !pair->self().address().empty() && !pair->peer().address().empty();
  if (told && !local) addresses = {pair->self().address(), pair->peer().address()};
  std::vector<std::unique_ptr<Client>> halves;
  for (std::string& address : addresses) {
    halves.push_back(std::make_unique<Client>(session.client.options_for(std::move(address))));
  }
  return halves;
}

// Of the first half that has the file; of the others that is NOT_FOUND.
template <typename Ask>
auto ask_who_has_it(const Session& session, Ask ask) {
  auto answer = ask(session.client);
  if (!absl::IsNotFound(answer.status())) return answer;
  for (const std::unique_ptr<Client>& half : halves_of(session)) {
    auto other = ask(*half);
    if (other.ok() || !absl::IsNotFound(other.status())) return other;
  }
  return answer;
}

// A replay kept the file although nothing was in conflict: it never had all of it.
void print_what_is_left(const Session& session, const std::string& name) {
  v1::GetDivergenceRequest request;
  request.set_file(name);
  request.set_limit(1);
  const auto kept = ask_who_has_it(
      session, [&](Client& client) { return client.pair(&PairCalls::GetDivergence, request); });
  if (kept.ok()) print_out(render_what_is_left(kept->file()));
}

Exit resolve(const Session& session, v1::ResolveDivergenceRequest::Way way,
             const DivergenceOptions& options, std::string_view done) {
  v1::ResolveDivergenceRequest request;
  request.set_file(options.file);
  request.set_way(way);
  request.set_overwrite(options.overwrite);
  const auto answer = ask_who_has_it(
      session, [&](Client& client) { return client.pair(&PairCalls::ResolveDivergence, request); });
  if (!answer.ok()) return session.failed(answer.status());
  print_out(fmt::format("{} {}: {} written, {} in conflict\n", printable(options.file), done,
                        answer->written(), answer->skipped()));
  if (!answer->kept()) return Exit::Ok;
  if (answer->skipped() > 0) {
    print_out(
        "the file is kept; --overwrite replaces what was written since, discard gives it up\n");
  } else {
    print_what_is_left(session, options.file);
  }
  return Exit::Warned;
}

Result<v1::Divergence> read_divergence(Client& client, const std::string& file) {
  v1::GetDivergenceRequest request;
  request.set_file(file);
  v1::Divergence whole;
  for (int page = 0; page < kMaxPages; ++page) {
    TRY(const v1::Divergence part, client.pair(&PairCalls::GetDivergence, request));
    *whole.mutable_file() = part.file();
    whole.mutable_changes()->MergeFrom(part.changes());
    if (part.next() <= request.after()) return whole;
    request.set_after(part.next());
  }
  return absl::ResourceExhaustedError("the file has more changes than can be shown");
}

}  // namespace

Exit pair_status(const Session& session, const PairStatusOptions& options) {
  const auto pair = session.client.pair(&PairCalls::GetPair, {});
  if (!pair.ok()) return session.failed(pair.status());
  print_out(render_pair(*pair, text_for(session, options.output)));
  return is_well(*pair) ? Exit::Ok : Exit::Warned;
}

// Only the active half can hand over, and it is asked itself: a call that is repeated elsewhere
// would switch back.
Exit switch_over(const Session& session) {
  const auto pair = session.client.pair(&PairCalls::GetPair, {});
  if (!pair.ok()) return session.failed(pair.status());
  const bool local = session.client.server().starts_with("unix:");
  const bool self = pair->self().state() == v1::PAIR_STATE_ACTIVE;
  const bool peer = pair->peer().state() == v1::PAIR_STATE_ACTIVE && pair->peer().connected();
  const std::string& active = self ? pair->self().address() : pair->peer().address();
  const bool known = (self || peer) && !active.empty() && !local;
  Client named(session.client.options_for(known ? active : session.client.server()));
  const auto done = (known ? named : session.client).pair(&PairCalls::SwitchOver, {});
  if (!done.ok()) return session.failed(done.status());
  print_out(fmt::format("{} is active, epoch {}; it took {}\n", printable(done->active()),
                        done->epoch(), to_short_string(to_duration(done->took()))));
  return Exit::Ok;
}

Exit promote(const Session& session, const PromoteOptions& options) {
  if (session.client.server().contains(',')) {
    return session.console.report({Exit::Usage, "HF6010",
                                   "several controllers are named, and one is to be promoted",
                                   "name that half alone with --server HOST:PORT"});
  }
  if (!options.force) {
    const auto pair = session.client.pair(&PairCalls::GetPair, {});
    if (!pair.ok()) return session.failed(pair.status());
    const bool serves =
        pair->self().state() == v1::PAIR_STATE_ACTIVE && pair->not_serving().empty();
    const std::string next =
        serves ? "nothing: there is nothing to promote" : std::string(find_reason("HF4130")->next);
    return session.console.report({Exit::Usage, "HF4130", promotion_risk(*pair), next});
  }
  v1::PromoteRequest request;
  request.set_force(true);
  request.set_lose_other(options.lose_other);
  const auto done = session.client.pair(&PairCalls::Promote, request);
  if (!done.ok()) return session.failed(done.status());
  print_out(fmt::format("this half is active, alone, epoch {}\n", done->epoch()));
  return Exit::Ok;
}

Exit list_divergences(const Session& session, const DivergenceOptions& options) {
  v1::ListDivergencesResponse all;
  Exit exit = Exit::Ok;
  size_t asked = 0;
  Status last;
  for (const std::unique_ptr<Client>& half : halves_of(session)) {
    const auto list = half->pair(&PairCalls::ListDivergences, {});
    if (list.ok()) {
      all.mutable_files()->MergeFrom(list->files());
      asked += 1;
      continue;
    }
    last = list.status();
    exit = Exit::Warned;
    print_err(fmt::format("{} does not say: {}\n", printable(half->server()),
                          printable(std::string(last.message()))));
  }
  if (asked == 0) return session.failed(last);
  print_out(render_divergences(all, text_for(session, options.output)));
  return exit;
}

Exit show_divergence(const Session& session, const DivergenceOptions& options) {
  const Result<v1::Divergence> whole = ask_who_has_it(
      session, [&](Client& client) { return read_divergence(client, options.file); });
  if (!whole.ok()) return session.failed(whole.status());
  print_out(render_divergence(*whole, text_for(session, options.output)));
  return Exit::Ok;
}

Exit discard_divergence(const Session& session, const DivergenceOptions& options) {
  return resolve(session, v1::ResolveDivergenceRequest::WAY_DISCARD, options, "discarded");
}

Exit replay_divergence(const Session& session, const DivergenceOptions& options) {
  return resolve(session, v1::ResolveDivergenceRequest::WAY_REPLAY, options, "replayed");
}

}  // namespace holdfast::cli
