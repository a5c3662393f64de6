// Whatever a resource holds, printing and reading it gives the same resource.
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "base/rng.h"
#include "resource/codec.h"
#include "resource/registry.h"

namespace holdfast::resource {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::util::MessageDifferencer;

// Fills every field of a message from a seed, with values that are hard on a text form.
class Filler {
 public:
  explicit Filler(uint64_t seed) : rng_(seed) {}

  void fill(Message& message) {
    const Descriptor& type = *message.GetDescriptor();
    if (type.full_name() == "google.protobuf.Timestamp") return fill_time(message);
    if (type.full_name() == "google.protobuf.Duration") return fill_duration(message);
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      const uint64_t count = field.is_repeated() ? 1 + rng_.below(4ull) : 1;
      for (uint64_t j = 0; j < count; ++j) fill_field(message, field);
    }
  }

 private:
  void fill_field(Message& message, const FieldDescriptor& field) {
    const auto& reflection = *message.GetReflection();
    const bool add = field.is_repeated();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (field.is_map()) return fill_entry(message, field);
        return fill(add ? *reflection.AddMessage(&message, &field)
                        : *reflection.MutableMessage(&message, &field));
      case FieldDescriptor::CPPTYPE_STRING: {
        const bool is_text = field.type() == FieldDescriptor::TYPE_STRING;
        const std::string value = is_text ? text() : bytes();
        return add ? reflection.AddString(&message, &field, value)
                   : reflection.SetString(&message, &field, value);
      }
      case FieldDescriptor::CPPTYPE_ENUM: {
        const int index = static_cast<int>(rng_.below(uint64_t(field.enum_type()->value_count())));
        const auto* value = field.enum_type()->value(index);
        return add ? reflection.AddEnum(&message, &field, value)
                   : reflection.SetEnum(&message, &field, value);
      }
      case FieldDescriptor::CPPTYPE_BOOL:
        return reflection.SetBool(&message, &field, rng_.below(2ull) == 0);
      case FieldDescriptor::CPPTYPE_INT64:
        return reflection.SetInt64(&message, &field, static_cast<int64_t>(number()));
      case FieldDescriptor::CPPTYPE_UINT64:
        return reflection.SetUInt64(&message, &field, number());
      case FieldDescriptor::CPPTYPE_UINT32:
        return reflection.SetUInt32(&message, &field, static_cast<uint32_t>(number()));
      default:
        FAIL() << "a field of a type this test and the codec do not know: " << field.full_name();
    }
  }

  void fill_entry(Message& message, const FieldDescriptor& field) {
    const Descriptor& type = *field.message_type();
    Message& entry = *message.GetReflection()->AddMessage(&message, &field);
    // Keys differ, because a map has each only once.
    entry.GetReflection()->SetString(&entry, type.map_key(), text() + std::to_string(++keys_));
    fill_field(entry, *type.map_value());
  }

  void fill_time(Message& message) {
    auto& time = static_cast<google::protobuf::Timestamp&>(message);
    time.set_seconds(static_cast<int64_t>(rng_.below(315'537'897'600ull)) - 62'135'596'800);
    time.set_nanos(nanos());
  }

  void fill_duration(Message& message) {
    auto& duration = static_cast<google::protobuf::Duration&>(message);
    duration.set_seconds(static_cast<int64_t>(rng_.below(315'576'000'000ull)));
    duration.set_nanos(nanos());
  }

  int32_t nanos() {
    constexpr std::array<int32_t, 3> kSteps = {1, 1'000, 1'000'000};
    const int32_t step = kSteps[rng_.below(3ull)];
    return static_cast<int32_t>(rng_.below(uint64_t(1'000'000'000 / step))) * step;
  }

  uint64_t number() { return rng_.next() >> rng_.below(64ull); }

  std::string text() {
    constexpr std::array<std::string_view, 28> kPieces = {
        "a",  "web", "1",  "1.10",   "true",         "null", "~",     ": ", " #", "- ",
        "\n", "\t",  "\"", "'",      "\\",           "é",    "😀",    "{",  "]",  "&a",
        "*a", "!",   "%",  "\x1b[m", "\xe2\x80\xa8", "\r",   "---\n", " "};
    std::string out;
    for (uint64_t left = rng_.below(6ull); left > 0; --left)
      out += kPieces[rng_.below(kPieces.size())];
    return out;
  }

  std::string bytes() {
    std::string out;
    for (uint64_t left = rng_.below(40ull); left > 0; --left) out += static_cast<char>(rng_.next());
    return out;
  }

  Rng rng_;
  int keys_ = 0;
};

v1::Resource filled(Kind kind, uint64_t seed) {
  Filler filler(seed);
  v1::Resource resource = make_resource(kind, "");
  filler.fill(*resource.mutable_metadata());
  filler.fill(mutable_body(kind, resource));
  return resource;
}

void expect_same(const v1::Resource& resource, const std::string& text) {
  const auto again = parse_documents(text);
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
  ASSERT_EQ(again->size(), 1u);
  EXPECT_TRUE(MessageDifferencer::Equals(again->front(), resource)) << text;
}

TEST(RoundTrip, EveryKindReadsBackAsPrinted) {
  for (size_t i = 0; i < kKindCount; ++i) {
    for (uint64_t seed = 1; seed <= 60; ++seed) {
      SCOPED_TRACE(testing::Message() << all_kinds()[i].name << " seed " << seed);
      const v1::Resource resource = filled(static_cast<Kind>(i), seed);

      expect_same(resource, to_json(resource));
      expect_same(resource, to_json_pretty(resource));
      expect_same(resource, to_yaml(resource));
    }
  }
}

TEST(RoundTrip, AnEmptyBodyReadsBackToo) {
  for (size_t i = 0; i < kKindCount; ++i) {
    const v1::Resource resource = make_resource(static_cast<Kind>(i), "x");

    expect_same(resource, to_json(resource));
    expect_same(resource, to_yaml(resource));
  }
}

TEST(RoundTrip, TheSameResourceIsAlwaysTheSameText) {
  v1::Resource one = make_resource(Kind::User, "u");
  v1::Resource other = make_resource(Kind::User, "u");
  for (int i = 0; i < 50; ++i) {
    (*one.mutable_metadata()->mutable_labels())["k" + std::to_string(i)] = "v";
    (*other.mutable_metadata()->mutable_labels())["k" + std::to_string(49 - i)] = "v";
  }

  EXPECT_EQ(to_json(one), to_json(other));
  EXPECT_EQ(to_yaml(one), to_yaml(other));
}

// The codec carries these types and no others; another type in resource.proto needs a text form.
TEST(RoundTrip, EveryFieldHasATypeTheCodecCarries) {
  std::vector<const Descriptor*> left = {v1::Resource::descriptor()};
  std::set<const Descriptor*> seen;
  while (!left.empty()) {
    const Descriptor* type = left.back();
    left.pop_back();
    if (!seen.insert(type).second) continue;
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor& field = *type->field(i);
      EXPECT_NE(field.cpp_type(), FieldDescriptor::CPPTYPE_DOUBLE) << field.full_name();
      EXPECT_NE(field.cpp_type(), FieldDescriptor::CPPTYPE_FLOAT) << field.full_name();
      if (field.is_map()) {
        EXPECT_EQ(field.message_type()->map_key()->type(), FieldDescriptor::TYPE_STRING);
      }
      if (field.enum_type() != nullptr) {
        EXPECT_TRUE(field.enum_type()->value(0)->name().ends_with("_UNSPECIFIED"));
      }
      if (field.message_type() != nullptr) left.push_back(field.message_type());
    }
  }
}

}  // namespace
}  // namespace holdfast::resource
