// A patch as an edit of the text: what the patch does not touch keeps every byte, comments too.
#pragma once

#include <boost/json/array.hpp>

#include <string>
#include <string_view>

#include "inject/source_node.h"

namespace holdfast::inject {

enum class Syntax { Yaml, Json };

struct Edited {
  std::string text;
  bool rewritten = false;  // written anew as a whole: comments, anchors and layout are lost
};

// `patch` is difference()'s for `root`, which was read from `text`. The result is read again and
// compared before it is returned; where the text cannot be edited it is written anew. kInternal:
// the patch does not fit.
Result<Edited> edit_source(std::string_view text, const SourceNode& root,
                           const boost::json::array& patch, Syntax syntax);

}  // namespace holdfast::inject
