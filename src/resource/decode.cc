#include "resource/decode.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "resource/scalar_text.h"

namespace holdfast::resource {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using std::string_view;

const FieldDescriptor* find_field(const Descriptor& type, const std::string& key) {
  const auto* field = type.FindFieldByName(key);
  return field != nullptr ? field : type.FindFieldByCamelcaseName(key);
}

std::string unknown_in(const Descriptor& type, string_view key) {
  std::vector<string_view> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  return unknown_field(key, names);
}

// Every function returns false after it has noted the error; the caller passes it on.
class Decoder {
 public:
  explicit Decoder(const DecodeOptions& options) : strings_(options.strings), path_(options.path) {}

  bool decode_mapping(const Node& node, Message& out) {
    if (node.shape != Node::Shape::Mapping) return fail(node.at, wrong_shape("a mapping", node));
    std::set<int> seen;
    for (const Member& member : node.members) {
      const Step step(*this, "." + key_in_path(member.key));
      const FieldDescriptor* field = find_field(*out.GetDescriptor(), member.key);
      if (field == nullptr) {
        return fail(member.key_at, unknown_in(*out.GetDescriptor(), member.key),
                    ErrorCode::UnknownField);
      }
      if (!seen.insert(field->number()).second) {
        return fail(member.key_at, "given twice, in two spellings; keep one", ErrorCode::Duplicate);
      }
      if (!decode_field(member.value, *field, out)) return false;
    }
    return true;
  }

  ParseError take_error() { return std::move(error_); }

 private:
  // One step down the path, taken back at the end of the scope.
  class Step {
   public:
    Step(Decoder& decoder, const std::string& step)
        : decoder_(decoder), length_(decoder.path_.size()) {
      decoder.path_ += decoder.path_.empty() && step.starts_with('.') ? step.substr(1) : step;
    }
    ~Step() { decoder_.path_.resize(length_); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    Decoder& decoder_;
    size_t length_;
  };

  bool decode_field(const Node& node, const FieldDescriptor& field, Message& out) {
    if (node.shape == Node::Shape::Null) return true;
    if (field.is_map()) return decode_map(node, field, out);
    if (field.is_repeated()) return decode_list(node, field, out);
    return decode_value(node, field, out);
  }

  bool decode_list(const Node& node, const FieldDescriptor& field, Message& out) {
    if (node.shape != Node::Shape::Sequence) return fail(node.at, wrong_shape("a list", node));
    for (size_t i = 0; i < node.items.size(); ++i) {
      const Step step(*this, fmt::format("[{}]", i));
      if (!decode_value(node.items[i], field, out)) return false;
    }
    return true;
  }

  bool decode_map(const Node& node, const FieldDescriptor& field, Message& out) {
    if (node.shape != Node::Shape::Mapping) return fail(node.at, wrong_shape("a mapping", node));
    const Descriptor& entry_type = *field.message_type();
    for (const Member& member : node.members) {
      const Step step(*this, "." + key_in_path(member.key));
      Message& entry = *out.GetReflection()->AddMessage(&out, &field);
      entry.GetReflection()->SetString(&entry, entry_type.map_key(), member.key);
      if (!decode_value(member.value, *entry_type.map_value(), entry)) return false;
    }
    return true;
  }

  // One value: sets the field, or adds to it if it is repeated.
  bool decode_value(const Node& node, const FieldDescriptor& field, Message& out) {
    const auto& reflection = *out.GetReflection();
    const bool add = field.is_repeated();
    switch (field.type()) {
      case FieldDescriptor::TYPE_MESSAGE:
        return decode_submessage(node, add ? *reflection.AddMessage(&out, &field)
                                           : *reflection.MutableMessage(&out, &field));
      case FieldDescriptor::TYPE_STRING:
      case FieldDescriptor::TYPE_BYTES:
        return decode_text(node, field, [&](std::string value) {
          add ? reflection.AddString(&out, &field, std::move(value))
              : reflection.SetString(&out, &field, std::move(value));
        });
      case FieldDescriptor::TYPE_ENUM:
        return decode_word(node, parse_enum(*field.enum_type(), node.text), [&](int value) {
          add ? reflection.AddEnumValue(&out, &field, value)
              : reflection.SetEnumValue(&out, &field, value);
        });
      case FieldDescriptor::TYPE_BOOL:
        return decode_bool(node, [&](bool value) {
          add ? reflection.AddBool(&out, &field, value) : reflection.SetBool(&out, &field, value);
        });
      default:
        return decode_number(node, field, out);
    }
  }

  bool decode_number(const Node& node, const FieldDescriptor& field, Message& out) {
    const auto& reflection = *out.GetReflection();
    const bool add = field.is_repeated();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT64:
        return decode_word(node, parse_int<int64_t>(node.text), [&](int64_t value) {
          add ? reflection.AddInt64(&out, &field, value) : reflection.SetInt64(&out, &field, value);
        });
      case FieldDescriptor::CPPTYPE_UINT64:
        return decode_word(node, parse_int<uint64_t>(node.text), [&](uint64_t value) {
          add ? reflection.AddUInt64(&out, &field, value)
              : reflection.SetUInt64(&out, &field, value);
        });
      case FieldDescriptor::CPPTYPE_INT32:
        return decode_word(node, parse_int<int32_t>(node.text), [&](int32_t value) {
          add ? reflection.AddInt32(&out, &field, value) : reflection.SetInt32(&out, &field, value);
        });
      case FieldDescriptor::CPPTYPE_UINT32:
        return decode_word(node, parse_int<uint32_t>(node.text), [&](uint32_t value) {
          add ? reflection.AddUInt32(&out, &field, value)
              : reflection.SetUInt32(&out, &field, value);
        });
      default:
        check_failed(__FILE__, __LINE__, "resources hold no floating point");
    }
  }

  bool decode_submessage(const Node& node, Message& out) {
    if (out.GetDescriptor() == google::protobuf::Timestamp::descriptor()) {
      return decode_word(node, parse_timestamp(node.text), [&](const auto& time) {
        static_cast<google::protobuf::Timestamp&>(out) = time;
      });
    }
    if (out.GetDescriptor() == google::protobuf::Duration::descriptor()) {
      return decode_word(node, parse_duration(node.text), [&](const auto& duration) {
        static_cast<google::protobuf::Duration&>(out) = duration;
      });
    }
    return decode_mapping(node, out);
  }

  template <typename Store>
  bool decode_text(const Node& node, const FieldDescriptor& field, Store store) {
    const bool is_text =
        node.shape == Node::Shape::Scalar && (node.quoted || strings_ == Strings::Literal);
    if (!is_text) {
      // The value may be a secret, so it is not shown.
      return fail(node.at, node.shape == Node::Shape::Scalar ? "must be a string; put it in quotes"
                                                             : wrong_shape("a string", node));
    }
    if (field.type() == FieldDescriptor::TYPE_STRING) {
      store(node.text);
      return true;
    }
    std::string bytes;
    if (!absl::Base64Unescape(node.text, &bytes)) {
      return fail(node.at, "is not base64; write bytes in base64, such as aGVsbG8=");
    }
    store(std::move(bytes));
    return true;
  }

  template <typename Store>
  bool decode_bool(const Node& node, Store store) {
    const bool plain = node.shape == Node::Shape::Scalar && !node.quoted;
    if (!plain || (node.text != "true" && node.text != "false")) {
      return fail(node.at, node.shape == Node::Shape::Scalar
                               ? fmt::format("{} is not true or false", in_quotes(node.text))
                               : wrong_shape("true or false", node));
    }
    store(node.text == "true");
    return true;
  }

  // A value that was read from one word of text.
  template <typename T, typename Store>
  bool decode_word(const Node& node, FromText<T> value, Store store) {
    if (node.shape != Node::Shape::Scalar) return fail(node.at, wrong_shape("one value", node));
    if (!value) return fail(node.at, std::move(value).error());
    store(*value);
    return true;
  }

  bool fail(Position at, std::string message, ErrorCode code = ErrorCode::WrongValue) {
    error_ = {.code = code, .at = at, .field = path_, .message = std::move(message)};
    return false;
  }

  Strings strings_;
  std::string path_;
  ParseError error_;
};

}  // namespace

Parsed<void> decode_message(const Node& mapping, const DecodeOptions& options, Message& out) {
  Decoder decoder(options);
  if (!decoder.decode_mapping(mapping, out)) return std::unexpected(decoder.take_error());
  return {};
}

std::string key_in_path(string_view key) {
  constexpr size_t kMaxShownBytes = 64;
  const bool plain =
      !key.empty() && key.size() <= kMaxShownBytes && std::ranges::all_of(key, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               string_view("_-./").contains(c);
      });
  return plain ? std::string(key) : in_quotes(key, kMaxShownBytes);
}

std::string wrong_shape(const char* expected, const Node& node) {
  switch (node.shape) {
    case Node::Shape::Null:
      return fmt::format("must be {}, not null", expected);
    case Node::Shape::Sequence:
      return fmt::format("must be {}, not a list", expected);
    case Node::Shape::Mapping:
      return fmt::format("must be {}, not a mapping", expected);
    case Node::Shape::Scalar:
      break;
  }
  return fmt::format("must be {}, not {}", expected, in_quotes(node.text, 32));
}

std::string unknown_field(string_view key, std::span<const string_view> known) {
  if (const auto near = did_you_mean(key, known)) {
    return fmt::format("unknown field; did you mean \"{}\"?", *near);
  }
  std::string names;
  for (const string_view name : known)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  return fmt::format("unknown field; there are {}", names);
}

}  // namespace holdfast::resource
