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
#include "cache/table_memory.h"
#include "resource/registry.h"

namespace holdfast::cache {

// Its counter belongs to the writer. Readers look at the rest, which never changes once shared.
struct TableItem {
  uint32_t refs = 1;
  bool is_leaf;
};

// The name's bytes follow it, so that a lookup compares them without visiting the resource.
struct TableLeaf : TableItem {
  uint64_t hash;
  Shared resource;
  const v1::Metadata* metadata;
  const google::protobuf::Message* body;
  v1::Resource::BodyCase body_case;
  uint32_t name_bytes;

  std::string_view name() const { return {reinterpret_cast<const char*>(this + 1), name_bytes}; }
};

namespace {

using Item = TableItem;
using Leaf = TableLeaf;

constexpr unsigned kBits = 6;
constexpr unsigned kHashBits = 64;

// A leaf's body is known here too, so that a lookup can ask for leaf and body at once.
struct Child {
  Item* item;
  const void* body;  // null for a node

  Child(Item* any) : item(any), body(any->is_leaf ? static_cast<Leaf*>(any)->body : nullptr) {}
};

// Its children follow it.
struct Node : Item {
  uint32_t count = 0;
  uint32_t capacity = 0;
  uint64_t bitmap = 0;

  Child* slots() { return reinterpret_cast<Child*>(this + 1); }
  const Child* slots() const { return reinterpret_cast<const Child*>(this + 1); }
  std::span<Child> children() { return {slots(), count}; }
  std::span<const Child> children() const { return {slots(), count}; }
  bool is_bucket() const { return bitmap == 0; }
};

uint64_t bit_at(uint64_t hash, unsigned shift) {
  return uint64_t{1} << ((hash >> shift) & 63);
}

uint32_t position(const Node& node, uint64_t bit) {
  return static_cast<uint32_t>(std::popcount(node.bitmap & (bit - 1)));
}

size_t bytes_of(const Node& node) {
  return sizeof(Node) + node.capacity * sizeof(Child);
}

// Space is given out for four children at a time.
Node* make_node(TableMemory& memory, uint32_t count) {
  const Node head{{.is_leaf = false}, count, (count + 3) & ~uint32_t{3}};
  return new (memory.allocate(bytes_of(head))) Node(head);
}

Leaf* make_leaf(TableMemory& memory, const Shared& resource, uint64_t hash) {
  const std::string& name = resource->metadata().name();
  auto* leaf = new (memory.allocate(sizeof(Leaf) + name.size())) Leaf{
      {.is_leaf = true},
      hash,
      resource,
      &resource->metadata(),
      resource::body_of(*resource),
      resource->body_case(),
      static_cast<uint32_t>(name.size()),
  };
  std::memcpy(leaf + 1, name.data(), name.size());
  return leaf;
}

void free_item(TableMemory& memory, Item* item) {
  if (!item->is_leaf) return memory.free(item, bytes_of(static_cast<Node&>(*item)));
  auto* leaf = static_cast<Leaf*>(item);
  const size_t bytes = sizeof(Leaf) + leaf->name_bytes;
  leaf->~Leaf();
  memory.free(leaf, bytes);
}

// Gives up one reference, and frees what that was the last of, from the last child to the first: at
// any time what is left is a whole trie. False if the budget ended before that.
bool release(TableMemory& memory, Item* item, size_t& budget) {
  if (item->refs == 1 && !item->is_leaf) {
    auto* node = static_cast<Node*>(item);
    while (node->count > 0) {
      if (!release(memory, node->slots()[node->count - 1].item, budget)) return false;
      node->count -= 1;
      if (!node->is_bucket()) node->bitmap &= ~std::bit_floor(node->bitmap);
    }
  }
  if (budget == 0) return false;
  budget -= 1;
  if (--item->refs == 0) free_item(memory, item);
  return true;
}

void release(TableMemory& memory, Item* item) {
  size_t budget = SIZE_MAX;
  release(memory, item, budget);
}

// Takes the caller's reference and gives back a node that the caller alone has.
Node* own(TableMemory& memory, Item* item) {
  auto* shared = static_cast<Node*>(item);
  if (shared->refs == 1) return shared;
  Node* copy = make_node(memory, shared->count);
  copy->bitmap = shared->bitmap;
  std::ranges::copy(shared->children(), copy->slots());
  for (const Child& child : copy->children()) child.item->refs += 1;
  shared->refs -= 1;
  return copy;
}

// Requires: `node` is the caller's alone. It may move.
Node* insert_child(TableMemory& memory, Node* node, uint32_t at, Item* child) {
  if (node->count == node->capacity) {
    Node* larger = make_node(memory, node->count + 1);
    larger->count = node->count;
    larger->bitmap = node->bitmap;
    std::ranges::copy(node->children(), larger->slots());
    free_item(memory, std::exchange(node, larger));
  }
  Child* slots = node->slots();
  std::copy_backward(slots + at, slots + node->count, slots + node->count + 1);
  slots[at] = child;
  node->count += 1;
  return node;
}

// A trie of two leaves with different names.
Item* join(TableMemory& memory, Leaf* a, Leaf* b, unsigned shift) {
  if (shift >= kHashBits) {
    Node* bucket = make_node(memory, 2);
    bucket->slots()[0] = a;
    bucket->slots()[1] = b;
    return bucket;
  }
  const uint64_t bit_a = bit_at(a->hash, shift);
  const uint64_t bit_b = bit_at(b->hash, shift);
  Node* node = make_node(memory, bit_a == bit_b ? 1 : 2);
  node->bitmap = bit_a | bit_b;
  if (bit_a == bit_b) {
    node->slots()[0] = join(memory, a, b, shift + kBits);
  } else {
    node->slots()[bit_a < bit_b ? 0 : 1] = a;
    node->slots()[bit_a < bit_b ? 1 : 0] = b;
  }
  return node;
}

uint32_t find_in_bucket(const Node& bucket, std::string_view name) {
  const auto children = bucket.children();
  const auto found = std::ranges::find_if(
      children, [&](Child child) { return static_cast<const Leaf*>(child.item)->name() == name; });
  return static_cast<uint32_t>(found - children.begin());
}

// These take the caller's references to both and give back one to the result.
Item* put_leaf(TableMemory& memory, Item* item, Leaf* fresh, unsigned shift) {
  if (item->is_leaf) {
    auto* leaf = static_cast<Leaf*>(item);
    if (leaf->hash != fresh->hash || leaf->name() != fresh->name())
      return join(memory, leaf, fresh, shift);
    release(memory, leaf);
    return fresh;
  }
  Node* node = own(memory, item);
  if (node->is_bucket()) {
    const uint32_t at = find_in_bucket(*node, fresh->name());
    if (at == node->count) return insert_child(memory, node, at, fresh);
    release(memory, std::exchange(node->slots()[at], fresh).item);
    return node;
  }
  const uint64_t bit = bit_at(fresh->hash, shift);
  const uint32_t at = position(*node, bit);
  if ((node->bitmap & bit) != 0) {
    node->slots()[at] = put_leaf(memory, node->slots()[at].item, fresh, shift + kBits);
    return node;
  }
  node = insert_child(memory, node, at, fresh);
  node->bitmap |= bit;
  return node;
}

// Requires: `gone` is below `item`; it is freed on the way. Null if nothing is left.
Item* erase_leaf(TableMemory& memory, Item* item, const Leaf& gone, unsigned shift) {
  if (item->is_leaf) {
    release(memory, item);
    return nullptr;
  }
  Node* node = own(memory, item);
  const uint64_t bit = node->is_bucket() ? 0 : bit_at(gone.hash, shift);
  const uint32_t at = bit == 0 ? find_in_bucket(*node, gone.name()) : position(*node, bit);
  Child* slots = node->slots();
  if (Item* left = erase_leaf(memory, slots[at].item, gone, shift + kBits); left != nullptr) {
    slots[at] = left;
  } else {
    std::copy(slots + at + 1, slots + node->count, slots + at);
    node->count -= 1;
    node->bitmap &= ~bit;
  }
  if (node->count != 1 || !slots[0].item->is_leaf) return node;
  Item* last = slots[0].item;
  free_item(memory, node);
  return last;
}

// Where to look in an item is known only when its first cache line is here: all lines that a lookup
// may need are asked for at once. Not those of the body: that would make who reads it faster by
// half, and who does not slower by as much.
template <size_t kLines>
void ask_for(const void* start) {
  constexpr size_t kLine = 64;
  for (size_t i = 0; i < kLines; ++i) {
    __builtin_prefetch(static_cast<const char*>(start) + i * kLine);
  }
}

void ask_for(const Child& child) {
  if (child.body == nullptr) return ask_for<7>(child.item);  // up to 26 children
  ask_for<2>(child.item);
}

bool visit_all(const Item& item, absl::FunctionRef<bool(const Shared&)> visit) {
  if (item.is_leaf) return visit(static_cast<const Leaf&>(item).resource);
  return std::ranges::all_of(static_cast<const Node&>(item).children(),
                             [&](const Child& child) { return visit_all(*child.item, visit); });
}

}  // namespace

size_t Table::default_hash(std::string_view name) {
  return std::hash<std::string_view>{}(name);
}

Table::Table(Hash hash) : hash_(hash), memory_(std::make_shared<TableMemory>()) {}

Table::Table(const Table& other)
    : root_(other.root_), size_(other.size_), hash_(other.hash_), memory_(other.memory_) {
  if (root_ != nullptr) root_->refs += 1;
}

Table::Table(Table&& other) noexcept
    : root_(std::exchange(other.root_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      hash_(other.hash_),
      memory_(other.memory_) {}

Table& Table::operator=(Table other) noexcept {
  std::swap(root_, other.root_);
  std::swap(size_, other.size_);
  std::swap(hash_, other.hash_);
  std::swap(memory_, other.memory_);
  return *this;
}

Table::~Table() {
  if (root_ != nullptr) release(*memory_, root_);
}

void Table::put(const Shared& resource) {
  HF_CHECK(resource != nullptr, "a table holds resources");
  const std::string& name = resource->metadata().name();
  const bool is_new = leaf(name) == nullptr;
  Leaf* fresh = make_leaf(*memory_, resource, hash_(name));
  root_ = root_ == nullptr ? fresh : put_leaf(*memory_, root_, fresh, 0);
  if (is_new) size_ += 1;
}

bool Table::erase(std::string_view name) {
  const Leaf* gone = leaf(name);
  if (gone == nullptr) return false;
  root_ = erase_leaf(*memory_, root_, *gone, 0);
  size_ -= 1;
  return true;
}

bool Table::dismantle(size_t& budget) {
  size_ = 0;
  if (root_ == nullptr) return true;
  if (!release(*memory_, root_, budget)) return false;
  root_ = nullptr;
  return true;
}

const TableLeaf* Table::leaf(std::string_view name) const {
  const uint64_t hash = hash_(name);
  const Item* item = root_;
  for (unsigned shift = 0; item != nullptr && !item->is_leaf; shift += kBits) {
    const auto& node = static_cast<const Node&>(*item);
    if (node.is_bucket()) {
      const uint32_t at = find_in_bucket(node, name);
      return at == node.count ? nullptr : static_cast<const Leaf*>(node.slots()[at].item);
    }
    const uint64_t bit = bit_at(hash, shift);
    if ((node.bitmap & bit) == 0) return nullptr;
    const Child& child = node.slots()[position(node, bit)];
    if (shift > 0) ask_for(child);  // what is right below the root, all lookups keep at hand
    item = child.item;
  }
  const auto* found = static_cast<const Leaf*>(item);
  if (found == nullptr || found->hash != hash || found->name() != name) return nullptr;
  return found;
}

const v1::Resource* Table::find(std::string_view name) const {
  const Leaf* found = leaf(name);
  return found == nullptr ? nullptr : found->resource.get();
}

Table::Parts Table::find_parts(std::string_view name) const {
  const Leaf* found = leaf(name);
  if (found == nullptr) return {};
  return {.resource = found->resource.get(),
          .metadata = found->metadata,
          .body = found->body,
          .body_case = found->body_case};
}

Shared Table::share(std::string_view name) const {
  const Leaf* found = leaf(name);
  return found == nullptr ? nullptr : found->resource;
}

void Table::for_each(absl::FunctionRef<bool(const Shared&)> visit) const {
  if (root_ != nullptr) visit_all(*root_, visit);
}

}  // namespace holdfast::cache
