// What `holdfast check` prints.
#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "cli/check_rules.h"
#include "cli/document.h"

namespace holdfast::cli {
namespace {

using resource::Node;

constexpr size_t kTitleWidth = 44;

std::string safe(const std::string& text) {
  const std::string shown = in_quotes(text, 512);
  return shown.substr(1, shown.size() - 2);
}

std::string_view word(Verdict verdict) {
  switch (verdict) {
    case Verdict::Passed:
      return "passed";
    case Verdict::Warning:
      return "warning";
    case Verdict::Failed:
      return "failed";
    case Verdict::Skipped:
      return "skipped";
  }
  return "";
}

std::string render_one(const CheckResult& result, const Console& console) {
  std::string text = fmt::format("{} {:<{}} {}\n", console.sign(result.verdict), safe(result.title),
                                 kTitleWidth, safe(result.detail));
  if (!result.code.empty()) {
    text += fmt::format("    {}{}holdfast explain {}\n",
                        result.next.empty() ? "" : "fix: " + result.next,
                        result.next.empty() ? "" : "   ", result.code);
  }
  return text;
}

std::string summary(const CheckCounts& counts) {
  return fmt::format("{} passed, {} {}, {} failed, {} skipped\n", counts.passed, counts.warnings,
                     counts.warnings == 1 ? "warning" : "warnings", counts.failed, counts.skipped);
}

Node text_mapping(std::initializer_list<std::pair<const char*, std::string_view>> pairs) {
  Node node = Node::mapping();
  for (const auto& [key, text] : pairs) {
    if (!text.empty()) node.members.push_back({.key = key, .value = text_node(text)});
  }
  return node;
}

}  // namespace

std::string render_checks(const std::vector<CheckResult>& results, const Console& console,
                          bool problems_only) {
  std::string text;
  std::string_view category;
  for (const CheckResult& result : results) {
    const bool problem = result.verdict == Verdict::Warning || result.verdict == Verdict::Failed;
    if (problems_only && !problem) continue;
    if (!problems_only && category != result.category) {
      category = result.category;
      text += fmt::format("{}\n{}\n", category, std::string(category.size(), '-'));
    }
    text += render_one(result, console);
  }
  return text + summary(count(results));
}

std::string checks_json(const std::vector<CheckResult>& results) {
  Document document("check");
  Node checks = Node::sequence();
  for (const CheckResult& result : results) {
    checks.items.push_back(text_mapping({{"category", result.category},
                                         {"title", result.title},
                                         {"verdict", word(result.verdict)},
                                         {"detail", result.detail},
                                         {"code", result.code},
                                         {"next", result.next}}));
  }
  document.set("checks", std::move(checks));
  const CheckCounts counts = count(results);
  document.set_number("passed", static_cast<int64_t>(counts.passed));
  document.set_number("warnings", static_cast<int64_t>(counts.warnings));
  document.set_number("failed", static_cast<int64_t>(counts.failed));
  document.set_number("skipped", static_cast<int64_t>(counts.skipped));
  return document.json();
}

}  // namespace holdfast::cli
