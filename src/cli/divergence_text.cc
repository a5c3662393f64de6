// What `holdfast ha divergence` prints; no waiting.
#include <fmt/format.h>

#include "base/bytes.h"
#include "cli/document.h"
#include "cli/pair.h"
#include "cli/table.h"
#include "cli/times.h"

namespace holdfast::cli {
namespace {

using Standing = v1::DivergedChange::Standing;

std::string_view standing_word(Standing standing) {
  switch (standing) {
    case v1::DivergedChange::STANDING_LOST:
      return "lost";
    case v1::DivergedChange::STANDING_CONFLICT:
      return "conflict";
    case v1::DivergedChange::STANDING_REAPPLIED:
      return "reapplied";
    case v1::DivergedChange::STANDING_SAME:
      return "same";
    default:
      return "unknown";
  }
}

std::string indented_block(const std::string& text) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out += "    " + printable(text.substr(at, end - at)) + "\n";
    at = end + 1;
  }
  return out;
}

std::string changes_text(const v1::Divergence& divergence) {
  std::string text;
  for (const v1::DivergedChange& change : divergence.changes()) {
    text += fmt::format("{} {}  {}\n", change.removed() ? "delete" : "put", printable(change.key()),
                        standing_word(change.standing()));
    if (change.standing() == v1::DivergedChange::STANDING_SAME) continue;
    if (!change.removed()) text += "  lost:\n" + indented_block(change.lost());
    if (!change.current().empty()) text += "  now:\n" + indented_block(change.current());
  }
  return text;
}

}  // namespace

std::string render_divergences(const v1::ListDivergencesResponse& list, const PairText& how) {
  if (how.output == Output::Json) return Document("divergence_list", list).json();
  if (how.output == Output::Yaml) return Document("divergence_list", list).yaml();
  if (how.output == Output::Name) {
    std::string names;
    for (const v1::DivergenceFile& each : list.files()) names += printable(each.file()) + "\n";
    return names;
  }
  if (list.files().empty()) return "no history of this half has diverged\n";
  std::vector<Row> rows;
  for (const v1::DivergenceFile& each : list.files()) {
    // Of one that is damaged nothing is known but its name.
    const std::string since = each.has_at() ? age(to_wall(each.at()), how.now) : "-";
    rows.push_back({each.file(), since, each.half(), std::to_string(each.fork().revision()),
                    std::to_string(each.head().revision()), std::to_string(each.changes()),
                    std::to_string(each.reapplied()), each.reason()});
  }
  std::string text = render_table(
      {"FILE", "AGE", "HALF", "FORK", "HEAD", "CHANGES", "REAPPLIED", "REASON"}, rows, how.last);
  for (const v1::DivergenceFile& each : list.files()) {
    if (each.whole_store().empty()) continue;
    text += fmt::format("{}: the whole store, as it was, is {} on {}\n", printable(each.file()),
                        printable(each.whole_store()), printable(each.half()));
  }
  return text;
}

std::string render_what_is_left(const v1::DivergenceFile& file) {
  const std::string where =
      file.whole_store().empty()
          ? std::string("is not kept any more")
          : fmt::format("is {} on {}", printable(file.whole_store()), printable(file.half()));
  return fmt::format(
      "the file is kept, since it never had all of it: {}\nthe whole store, as it was, {}\n"
      "`holdfast ha divergence discard {}` gives both up\n",
      printable(file.reason()), where, printable(file.file()));
}

std::string render_divergence(const v1::Divergence& divergence, const PairText& how) {
  if (how.output == Output::Json) return Document("divergence", divergence).json();
  if (how.output == Output::Yaml) return Document("divergence", divergence).yaml();
  return changes_text(divergence);
}

}  // namespace holdfast::cli
