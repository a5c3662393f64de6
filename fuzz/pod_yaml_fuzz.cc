// Foreign bytes as a manifest of pods: what is translated is read again, a second run changes
// nothing, and everything can be taken away.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "inject/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using holdfast::inject::translate_manifest;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto first = translate_manifest(text, {});
  if (!first.ok()) return 0;
  const auto second = translate_manifest(first->text, {});
  HF_CHECK(second.ok() && second->changed == 0, "a second run changes nothing");
  HF_CHECK(second->text == first->text, "what does not change keeps its bytes");
  const auto back = translate_manifest(first->text, {.inject = {}, .undo = true});
  HF_CHECK(back.ok(), "what was injected can be taken away");
  if (text.contains("original-probes")) return 0;  // somebody's own idea of what was there
  HF_CHECK(back->changed == first->changed, "and nothing else");
  const auto again = translate_manifest(back->text, {});
  HF_CHECK(again.ok() && again->changed == first->changed, "it can be injected again");
  return 0;
}
