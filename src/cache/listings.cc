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
  const bool goes_on = !position.last_name.empty() && kept && kept->revision == position.revision;
  const bool same = kept && kept->revision == view.revision && kept->generation == view.generation;
  if (goes_on || same) return *kept;
  Listing& made = kept.emplace(Listing{
      .revision = view.revision, .generation = view.generation, .items = view.items, .sorted = {}});
  made.sorted.reserve(made.items.size());
  made.items.for_each([&](const Shared& resource) {
    made.sorted.push_back(resource.get());
    return true;
  });
  std::ranges::sort(made.sorted, {}, name_of);
  return made;
}

// Whether there is room for another.
bool Listings::add(v1::ListResponse& response, const v1::Resource& resource, const Asked& asked,
                   size_t& bytes) const {
  const uint32_t wanted =
      asked.request.page_size() == 0 ? options_.default_page_size : asked.request.page_size();
  const auto page_size = static_cast<int>(std::min(wanted, options_.max_page_size));
  bytes += resource.ByteSizeLong();
  *response.add_resources() = asked.hide_secrets ? resource::without_secrets(resource) : resource;
  return response.resources_size() < page_size && bytes < options_.max_page_bytes;
}

Result<v1::ListResponse> Listings::page(const KindView& view, const Asked& asked, Time now) {
  TRY(const Position position, parse(asked.request.page_token()));
  Listing& listing = listing_for(view, asked.kind, position);
  listing.used = now;
  v1::ListResponse response;
  response.set_revision(position.last_name.empty() ? listing.revision : position.revision);
  response.set_page_revision(listing.revision);
  auto next = std::ranges::upper_bound(listing.sorted, position.last_name, {}, name_of);
  size_t bytes = 0;
  bool room = true;
  for (; room && next != listing.sorted.end(); ++next) {
    if (!labels_match(**next, asked.request.labels())) continue;
    room = add(response, **next, asked, bytes);
  }
  if (next != listing.sorted.end()) {
    response.set_next_page_token(fmt::format("{}:{}", response.revision(), name_of(*(next - 1))));
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
