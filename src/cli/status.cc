// holdfast status, version --server, explain.
#include <fmt/format.h>

#include <thread>

#include "base/bytes.h"
#include "cli/output.h"
#include "cli/pair.h"
#include "cli/reasons.h"
#include "cli/status_commands.h"
#include "cli/status_text.h"

namespace holdfast::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr auto kStatusPause = std::chrono::milliseconds(250);

void print_status(const v1::GetStatusResponse& status, const Console& console, Output output) {
  switch (output) {
    case Output::Json:
      return print_out(status_json(status));
    case Output::Yaml:
      return print_out(status_yaml(status));
    case Output::Name:
      return print_out(fmt::format("controller/{}\n", status.controller()));
    case Output::Table:
    case Output::Wide:
      return print_out(render_status(status, console));
  }
}

// Older controllers know nothing of pairs, and some callers may not ask.
void print_pair(const Session& session, Output output) {
  if (output != Output::Table && output != Output::Wide) return;
  const auto pair = session.client.pair(&PairCalls::GetPair, {});
  if (pair.ok()) print_out(pair_line(*pair));
}

}  // namespace

Exit status(const Session& session, const StatusOptions& options) {
  const auto deadline = SteadyClock::now() + options.timeout;
  for (;;) {
    const Result<v1::GetStatusResponse> answer = session.client.status();
    const bool healthy = answer.ok() && answer->state() == v1::HEALTH_STATE_OK;
    const bool again = options.wait && !healthy && SteadyClock::now() + kStatusPause < deadline;
    if (again) {
      std::this_thread::sleep_for(kStatusPause);
      continue;
    }
    if (!answer.ok()) return session.failed(answer.status());
    print_status(*answer, session.console, options.output);
    print_pair(session, options.output);
    if (healthy || !options.wait) return Exit::Ok;
    return session.console.report(
        {Exit::TimedOut, "HF1030",
         fmt::format("the controller is {} after {}", to_word(answer->state()),
                     to_short_string(options.timeout)),
         std::string(find_reason("HF1030")->next)});
  }
}

Exit server_version(const Session& session) {
  const Result<v1::GetStatusResponse> answer = session.client.status();
  if (!answer.ok()) return session.failed(answer.status());
  print_out(fmt::format("controller {} {}\n", answer->controller(), answer->version()));
  return Exit::Ok;
}

Exit explain_code(const Console& console, const std::string& code) {
  if (const ReasonInfo* reason = find_reason(code)) {
    print_out(to_text(*reason));
    return Exit::Ok;
  }
  std::vector<std::string_view> codes;
  for (const ReasonInfo& reason : all_reasons()) codes.push_back(reason.code);
  const auto near = did_you_mean(code, codes);
  return console.report({Exit::Usage, "HF6010",
                         fmt::format("{} is not a reason code{}", in_quotes(code),
                                     near ? fmt::format("; did you mean {}?", *near) : ""),
                         "codes look like HF5001; all are in the documentation of the command "
                         "line"});
}

}  // namespace holdfast::cli
