#include "cache/listings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "resource/field_path.h"

namespace holdfast::cache {
namespace {

const std::string& name_of(const v1::Resource* resource) {
  return resource->metadata().name();
}

bool labels_match(const v1::Resource& resource,
                  const google::protobuf::Map<std::string, std::string>& wanted) {
  return std::ranges::all_of(wanted, [&](const auto& label) {
    const auto found = resource.metadata().labels().find(label.first);
    return found != resource.metadata().labels().end() && found->second == label.second;
  });
}

}  // namespace

Result<Listings::Position> Listings::parse(const std::string& token) {
  Position position;
  if (token.empty()) return position;
  const char* end = token.data() + token.size();
  const auto [rest, error] = std::from_chars(token.data(), end, position.revision);
  if (error != std::errc() || rest == end || *rest != ':' || rest + 1 == end) {
    return absl::InvalidArgumentError("page_token: not one this cache gave out");
  }
  position.last_name.assign(rest + 1, end);
  return position;
}

Listings::Listing& Listings::listing_for(const KindView& view, resource::Kind kind,
                                         const Position& position) {
  std::optional<Listing>& kept = kept_[static_cast<size_t>(kind)];
  const bool goes_on =
      !position.last_name.empty() && kept && kept->view.revision == position.revision;
  const bool same = kept && kept->view.revision == view.revision &&
                    kept->view.generation == view.generation && kept->view.ahead == view.ahead;
  if (goes_on || same) return *kept;
  Listing& made = kept.emplace(Listing{.view = view, .sorted = {}});
  made.sorted.reserve(made.view.items.size());
  made.view.items.for_each([&](const Shared& resource) {
    made.sorted.push_back(resource.get());
    return true;
  });
  std::ranges::sort(made.sorted, {}, name_of);
  return made;
}

// With what follows `after`, until the page is full or the revision it tells of ends.
void Listings::fill(v1::ListResponse& response, const Listing& listing, const Asked& asked,
                    const std::string& after) const {
  const uint32_t wanted =
      asked.request.page_size() == 0 ? options_.default_page_size : asked.request.page_size();
  const auto page_size = static_cast<int>(std::min(wanted, options_.max_page_size));
  const Told told = told_after(listing.view, after);
  response.set_page_revision(told.revision);
  response.set_up_to(told.up_to);
  auto is_full = [&, bytes = size_t{0}](const v1::Resource& added) mutable {
    bytes += added.ByteSizeLong();
    return response.resources_size() >= page_size || bytes >= options_.max_page_bytes;
  };
  auto next = std::ranges::upper_bound(listing.sorted, after, {}, name_of);
  for (; next != listing.sorted.end(); ++next) {
    if (!told.up_to.empty() && name_of(*next) > told.up_to) return;
    if (!labels_match(**next, asked.request.labels())) continue;
    *response.add_resources() = asked.hide_secrets ? resource::without_secrets(**next) : **next;
    if (!is_full(**next)) continue;
    const bool more = next + 1 != listing.sorted.end();
    if (more) response.set_up_to(name_of(*next));
    return;
  }
}

Result<v1::ListResponse> Listings::page(const KindView& view, const Asked& asked, Time now) {
  TRY(const Position position, parse(asked.request.page_token()));
  Listing& listing = listing_for(view, asked.kind, position);
  listing.used = now;
  v1::ListResponse response;
  response.set_revision(position.last_name.empty() ? listing.view.revision : position.revision);
  fill(response, listing, asked, position.last_name);
  if (!response.up_to().empty()) {
    response.set_next_page_token(fmt::format("{}:{}", response.revision(), response.up_to()));
  }
  return response;
}

void Listings::on_tick(Time now) {
  for (std::optional<Listing>& kept : kept_) {
    if (kept && kept->used + options_.keep <= now) kept.reset();
  }
}

size_t Listings::size() const {
  return static_cast<size_t>(
      std::ranges::count_if(kept_, [](const auto& kept) { return kept.has_value(); }));
}

}  // namespace holdfast::cache
