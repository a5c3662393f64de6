// A hash array mapped trie. Six bits of a name's hash choose among up to 64 children at each level;
// a node keeps only the children it has, found by counting the bits below theirs in its bitmap.
//
//   root ─ bits 0-5 ─► node ─ bits 6-11 ─► node ─ bits 12-17 ─► leaf "edge-7"
//
// A leaf sits as high as it can: a node has two leaves below it or more. Names whose hashes are
// equal to the last bit share a bucket, which is a node without bitmap, searched one by one.
#include "cache/table.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <new>
#include <span>
#include <utility>

#include "base/check.h"

namespace holdfast::cache {

// Its counter belongs to the writer. Readers look at the rest, which never changes once shared.
struct TableItem {
  uint32_t refs = 1;
  bool is_leaf;
};

// The name's bytes follow it, so that a lookup compares them without visiting the resource.
struct TableLeaf : TableItem {
  uint32_t name_bytes;
  uint64_t hash;
  Shared resource;

  std::string_view name() const { return {reinterpret_cast<const char*>(this + 1), name_bytes}; }
};

namespace {

using Item = TableItem;
using Leaf = TableLeaf;

constexpr unsigned kBits = 6;
constexpr unsigned kHashBits = 64;

// The pointers to its children follow it.
struct Node : Item {
  uint32_t count = 0;
  uint64_t bitmap = 0;

  Item** slots() { return reinterpret_cast<Item**>(this + 1); }
  Item* const* slots() const { return reinterpret_cast<Item* const*>(this + 1); }
  std::span<Item*> children() { return {slots(), count}; }
  std::span<Item* const> children() const { return {slots(), count}; }
  bool is_bucket() const { return bitmap == 0; }
};

uint64_t bit_at(uint64_t hash, unsigned shift) {
  return uint64_t{1} << ((hash >> shift) & 63);
}

uint32_t position(const Node& node, uint64_t bit) {
  return static_cast<uint32_t>(std::popcount(node.bitmap & (bit - 1)));
}

// Space is given out for four children at a time.
size_t capacity(uint32_t count) {
  return (count + 3) & ~size_t{3};
}

Node* make_node(uint32_t count) {
  void* space = ::operator new(sizeof(Node) + capacity(count) * sizeof(Item*));
  return new (space) Node{{.is_leaf = false}, count};
}

Leaf* make_leaf(Shared resource, uint64_t hash) {
  const std::string& name = resource->metadata().name();
  void* space = ::operator new(sizeof(Leaf) + name.size());
  auto* leaf = new (space)
      Leaf{{.is_leaf = true}, static_cast<uint32_t>(name.size()), hash, std::move(resource)};
  std::memcpy(leaf + 1, name.data(), name.size());
  return leaf;
}

void free_item(Item* item) {
  if (item->is_leaf) {
    static_cast<Leaf*>(item)->~Leaf();
  }
  ::operator delete(item);
}

// Gives up one reference, and frees what that was the last of, from the last child to the first: at
// any time what is left is a whole trie. False if the budget ended before that.
bool release(Item* item, size_t& budget) {
  if (item->refs == 1 && !item->is_leaf) {
    auto* node = static_cast<Node*>(item);
    while (node->count > 0) {
      if (!release(node->slots()[node->count - 1], budget)) return false;
      node->count -= 1;
      if (!node->is_bucket()) node->bitmap &= ~std::bit_floor(node->bitmap);
    }
  }
  if (budget == 0) return false;
  budget -= 1;
  if (--item->refs == 0) free_item(item);
  return true;
}

void release(Item* item) {
  size_t budget = SIZE_MAX;
  release(item, budget);
}

// Takes the caller's reference and gives back a node that the caller alone has.
Node* own(Item* item) {
  auto* shared = static_cast<Node*>(item);
  if (shared->refs == 1) return shared;
  Node* copy = make_node(shared->count);
  copy->bitmap = shared->bitmap;
  std::ranges::copy(shared->children(), copy->slots());
  for (Item* child : copy->children()) child->refs += 1;
  shared->refs -= 1;
  return copy;
}

// Requires: `node` is the caller's alone. It may move.
Node* insert_child(Node* node, uint32_t at, Item* child) {
  if (node->count == capacity(node->count)) {
    Node* larger = make_node(node->count + 1);
    larger->count = node->count;
    larger->bitmap = node->bitmap;
    std::ranges::copy(node->children(), larger->slots());
    free_item(std::exchange(node, larger));
  }
  Item** slots = node->slots();
  std::copy_backward(slots + at, slots + node->count, slots + node->count + 1);
  slots[at] = child;
  node->count += 1;
  return node;
}

// A trie of two leaves with different names.
Item* join(Leaf* a, Leaf* b, unsigned shift) {
  if (shift >= kHashBits) {
    Node* bucket = make_node(2);
    bucket->slots()[0] = a;
    bucket->slots()[1] = b;
    return bucket;
  }
  const uint64_t bit_a = bit_at(a->hash, shift);
  const uint64_t bit_b = bit_at(b->hash, shift);
  Node* node = make_node(bit_a == bit_b ? 1 : 2);
  node->bitmap = bit_a | bit_b;
  if (bit_a == bit_b) {
    node->slots()[0] = join(a, b, shift + kBits);
  } else {
    node->slots()[bit_a < bit_b ? 0 : 1] = a;
    node->slots()[bit_a < bit_b ? 1 : 0] = b;
  }
  return node;
}

uint32_t find_in_bucket(const Node& bucket, std::string_view name) {
  const auto children = bucket.children();
  const auto found = std::ranges::find_if(
      children, [&](const Item* item) { return static_cast<const Leaf*>(item)->name() == name; });
  return static_cast<uint32_t>(found - children.begin());
}

// These take the caller's references to both and give back one to the result.
Item* put_leaf(Item* item, Leaf* fresh, unsigned shift) {
  if (item->is_leaf) {
    auto* leaf = static_cast<Leaf*>(item);
    if (leaf->hash != fresh->hash || leaf->name() != fresh->name()) return join(leaf, fresh, shift);
    release(leaf);
    return fresh;
  }
  Node* node = own(item);
  if (node->is_bucket()) {
    const uint32_t at = find_in_bucket(*node, fresh->name());
    if (at == node->count) return insert_child(node, at, fresh);
    release(std::exchange(node->slots()[at], fresh));
    return node;
  }
  const uint64_t bit = bit_at(fresh->hash, shift);
  const uint32_t at = position(*node, bit);
  if ((node->bitmap & bit) != 0) {
    node->slots()[at] = put_leaf(node->slots()[at], fresh, shift + kBits);
    return node;
  }
  node = insert_child(node, at, fresh);
  node->bitmap |= bit;
  return node;
}

// Requires: `gone` is below `item`; it is freed on the way. Null if nothing is left.
Item* erase_leaf(Item* item, const Leaf& gone, unsigned shift) {
  if (item->is_leaf) {
    release(item);
    return nullptr;
  }
  Node* node = own(item);
  const uint64_t bit = node->is_bucket() ? 0 : bit_at(gone.hash, shift);
  const uint32_t at = bit == 0 ? find_in_bucket(*node, gone.name()) : position(*node, bit);
  Item** slots = node->slots();
  slots[at] = erase_leaf(slots[at], gone, shift + kBits);
  if (slots[at] == nullptr) {
    std::copy(slots + at + 1, slots + node->count, slots + at);
    node->count -= 1;
    node->bitmap &= ~bit;
  }
  if (node->count != 1 || !slots[0]->is_leaf) return node;
  Item* last = slots[0];
  free_item(node);
  return last;
}

bool visit_all(const Item& item, absl::FunctionRef<bool(const Shared&)> visit) {
  if (item.is_leaf) return visit(static_cast<const Leaf&>(item).resource);
  return std::ranges::all_of(static_cast<const Node&>(item).children(),
                             [&](const Item* child) { return visit_all(*child, visit); });
}

}  // namespace

size_t Table::default_hash(std::string_view name) {
  return std::hash<std::string_view>{}(name);
}

Table::Table(const Table& other) : root_(other.root_), size_(other.size_), hash_(other.hash_) {
  if (root_ != nullptr) root_->refs += 1;
}

Table::Table(Table&& other) noexcept
    : root_(std::exchange(other.root_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      hash_(other.hash_) {}

Table& Table::operator=(Table other) noexcept {
  std::swap(root_, other.root_);
  std::swap(size_, other.size_);
  std::swap(hash_, other.hash_);
  return *this;
}

Table::~Table() {
  if (root_ != nullptr) release(root_);
}

void Table::put(Shared resource) {
  HF_CHECK(resource != nullptr, "a table holds resources");
  const std::string& name = resource->metadata().name();
  const bool is_new = leaf(name) == nullptr;
  const uint64_t hash = hash_(name);
  Leaf* fresh = make_leaf(std::move(resource), hash);
  root_ = root_ == nullptr ? fresh : put_leaf(root_, fresh, 0);
  if (is_new) size_ += 1;
}

bool Table::erase(std::string_view name) {
  const Leaf* gone = leaf(name);
  if (gone == nullptr) return false;
  root_ = erase_leaf(root_, *gone, 0);
  size_ -= 1;
  return true;
}

bool Table::dismantle(size_t& budget) {
  size_ = 0;
  if (root_ == nullptr) return true;
  if (!release(root_, budget)) return false;
  root_ = nullptr;
  return true;
}

const TableLeaf* Table::leaf(std::string_view name) const {
  const uint64_t hash = hash_(name);
  uint64_t rest = hash;
  const Item* item = root_;
  while (item != nullptr && !item->is_leaf) {
    const auto& node = static_cast<const Node&>(*item);
    if (node.is_bucket()) {
      const uint32_t at = find_in_bucket(node, name);
      return at == node.count ? nullptr : static_cast<const Leaf*>(node.slots()[at]);
    }
    const uint64_t bit = bit_at(rest, 0);
    if ((node.bitmap & bit) == 0) return nullptr;
    item = node.slots()[position(node, bit)];
    rest >>= kBits;
  }
  const auto* found = static_cast<const Leaf*>(item);
  if (found == nullptr || found->hash != hash || found->name() != name) return nullptr;
  return found;
}

const v1::Resource* Table::find(std::string_view name) const {
  const Leaf* found = leaf(name);
  return found == nullptr ? nullptr : found->resource.get();
}

Shared Table::share(std::string_view name) const {
  const Leaf* found = leaf(name);
  return found == nullptr ? nullptr : found->resource;
}

void Table::for_each(absl::FunctionRef<bool(const Shared&)> visit) const {
  if (root_ != nullptr) visit_all(*root_, visit);
}

}  // namespace holdfast::cache
