// The post_processor and decoder sections of tokenizer.json.
#include <array>
#include <utility>

#include "base/quoted.h"
#include "base/utf8.h"
#include "model/tokenizer/tokenizer_json_loader.h"

namespace weft {

Result<void> TokenizerJsonLoader::ReadPostProcessor(const JsonView& section, int nesting) {
  if (section.is_null()) return {};
  WEFT_ASSIGN_OR_RETURN(const std::string_view type, section["type"].String());
  if (type == "ByteLevel") return {};  // only moves offsets
  if (type == "TemplateProcessing" || type == "RobertaProcessing" || type == "BertProcessing") {
    if (has_template_) {
      return Fail(ErrorCode::kUnsupported, "{}: a second one that adds tokens is not supported",
                  section.where());
    }
    has_template_ = true;
    if (type == "TemplateProcessing") return ReadTemplate(section);
    return ReadClsAndSep(section, type == "BertProcessing");
  }
  if (type == "Sequence" && nesting < kMaxSectionNesting) {
    const JsonView processors = section["processors"];
    WEFT_RETURN_IF_ERROR(processors.ExpectArray());
    for (size_t i = 0; i < processors.value().size(); ++i) {
      WEFT_RETURN_IF_ERROR(ReadPostProcessor(processors.Element(i), nesting + 1));
    }
    return {};
  }
  return Fail(ErrorCode::kUnsupported, "{}: {} is not supported", section.where(), Quoted(type));
}

Result<void> TokenizerJsonLoader::ReadClsAndSep(const JsonView& section, bool is_bert) {
  for (const auto& [key, ids] :
       {std::pair{"cls", &parts_.prefix}, std::pair{"sep", &parts_.suffix}}) {
    const JsonView pair = section[key];  // ["<s>", 0]
    WEFT_RETURN_IF_ERROR(pair.ExpectArray());
    if (pair.value().size() != 2) {
      return Fail(ErrorCode::kCorrupt, "{} has {} elements, 2 expected", pair.where(),
                  pair.value().size());
    }
    WEFT_ASSIGN_OR_RETURN(const std::string_view text, pair.Element(0).String());
    WEFT_ASSIGN_OR_RETURN(const std::optional<TokenId> id,
                          Resolve(std::string(text), std::nullopt, pair.where()));
    ids->push_back(*id);
  }
  const TokenId sep = parts_.suffix.front();
  PairLayout pair = {.before = parts_.prefix, .between = {sep}, .after = {sep}, .second_type = 1};
  if (!is_bert) {  // RoBERTa has one type of tokens, and two between its texts
    pair.between = {sep, sep};
    pair.second_type = std::nullopt;
  }
  parts_.pair = std::move(pair);
  return {};
}

// "single": what stands before and behind the text A.
Result<void> TokenizerJsonLoader::ReadTemplate(const JsonView& section) {
  const JsonView single = section["single"];
  WEFT_RETURN_IF_ERROR(single.ExpectArray());
  bool after_text = false;
  for (size_t i = 0; i < single.value().size(); ++i) {
    const JsonView element = single.Element(i);
    const JsonView special = element["SpecialToken"];
    if (special.is_null()) {
      WEFT_RETURN_IF_ERROR(element["Sequence"].ExpectObject());
      if (after_text) {
        return Fail(ErrorCode::kUnsupported, "{}: a second text is not supported", element.where());
      }
      after_text = true;
      continue;
    }
    WEFT_ASSIGN_OR_RETURN(const std::string_view name, special["id"].String());
    WEFT_ASSIGN_OR_RETURN(const TokenId id, ReadTemplateToken(section, name));
    (after_text ? parts_.suffix : parts_.prefix).push_back(id);
  }
  parts_.pair = ReadPairTemplate(section);
  // Models that read no pairs do without one, so that only a token that is none is an error.
  if (!parts_.pair && parts_.pair.error().code != ErrorCode::kUnsupported) {
    return tl::unexpected(parts_.pair.error());
  }
  return {};
}

// "pair": the same of A and B. kUnsupported: it has none, or another order or types than these.
Result<PairLayout> TokenizerJsonLoader::ReadPairTemplate(const JsonView& section) const {
  const JsonView elements = section["pair"];
  const auto refuse = [&](const JsonView& where, std::string_view what) {
    return Fail(ErrorCode::kUnsupported, "{}: {}", where.where(), what);
  };
  if (elements.is_null()) return refuse(elements, "no template for two texts");
  WEFT_RETURN_IF_ERROR(elements.ExpectArray());
  PairLayout pair;
  const auto places = std::to_array({&pair.before, &pair.between, &pair.after});
  size_t text_count = 0;
  int64_t type = 0;
  for (size_t i = 0; i < elements.value().size(); ++i) {
    const JsonView element = elements.Element(i);
    const JsonView special = element["SpecialToken"];
    const bool is_text = special.is_null();
    const JsonView part = is_text ? element["Sequence"] : special;
    WEFT_RETURN_IF_ERROR(part.ExpectObject());
    WEFT_ASSIGN_OR_RETURN(const std::string_view name, part["id"].String());
    int64_t element_type = 0;
    if (!part["type_id"].is_null()) {
      WEFT_ASSIGN_OR_RETURN(element_type, part["type_id"].Int());
    }
    if (element_type < type || element_type > 1) {
      return refuse(part, "token types other than 0 and then 1 are not supported");
    }
    if (element_type != type) {
      type = element_type;
      if (text_count != 1) {
        return refuse(part,
                      "a type that changes elsewhere than between the texts is not supported");
      }
      pair.second_type = pair.between.size();
    }
    if (is_text) {
      if (text_count == 2 || name != (text_count == 0 ? "A" : "B")) {
        return refuse(part, "other texts than A and then B are not supported");
      }
      ++text_count;
      continue;
    }
    WEFT_ASSIGN_OR_RETURN(const TokenId id, ReadTemplateToken(section, name));
    places[text_count]->push_back(id);
  }
  if (text_count != 2) return refuse(elements, "a template without two texts is not supported");
  return pair;
}

Result<TokenId> TokenizerJsonLoader::ReadTemplateToken(const JsonView& section,
                                                       std::string_view name) const {
  const JsonView ids = section["special_tokens"][name]["ids"];
  WEFT_RETURN_IF_ERROR(ids.ExpectArray());
  if (ids.value().size() != 1) {
    return Fail(ErrorCode::kUnsupported, "{} has {} ids, 1 expected", ids.where(),
                ids.value().size());
  }
  WEFT_ASSIGN_OR_RETURN(const int64_t id, ids.Element(0).Int());
  WEFT_ASSIGN_OR_RETURN(const std::optional<TokenId> token, Resolve(std::nullopt, id, ids.where()));
  return *token;
}

Result<void> TokenizerJsonLoader::ReadDecoder(const JsonView& section, int nesting) {
  if (section.is_null()) return {};
  WEFT_ASSIGN_OR_RETURN(const std::string_view type, section["type"].String());
  if (type == "Sequence" && nesting < kMaxSectionNesting) {
    const JsonView decoders = section["decoders"];
    WEFT_RETURN_IF_ERROR(decoders.ExpectArray());
    for (size_t i = 0; i < decoders.value().size(); ++i) {
      WEFT_RETURN_IF_ERROR(ReadDecoder(decoders.Element(i), nesting + 1));
    }
  } else if (type == "ByteLevel") {
    is_byte_level_ = true;
  } else if (type == "Replace") {
    return ReadDecoderReplace(section);
  } else if (type == "Metaspace") {
    WEFT_ASSIGN_OR_RETURN(const bool adds_space, section["add_prefix_space"].BoolOr(true));
    WEFT_ASSIGN_OR_RETURN(const std::string_view scheme,
                          section["prepend_scheme"].StringOr(adds_space ? "always" : "never"));
    parts_.decode_drops_spaces = scheme == "never" ? 0 : 1;
  } else if (type == "Strip") {
    WEFT_ASSIGN_OR_RETURN(const std::string_view content, section["content"].String());
    WEFT_ASSIGN_OR_RETURN(const int64_t start, section["start"].Int());
    WEFT_ASSIGN_OR_RETURN(const int64_t stop, section["stop"].Int());
    if (content != " " || start < 0 || start > 1 || stop != 0) {
      return Fail(ErrorCode::kUnsupported,
                  "{}: stripping {} {} at the start and {} at the end is not supported; "
                  "expected 1 ' ' and 0",
                  section.where(), start, Quoted(content), stop);
    }
    parts_.decode_drops_spaces = static_cast<size_t>(start);
  } else if (type == "WordPiece" && model_type_ == ModelType::kWordPiece) {
    return ReadWordPieceDecoder(section);
  } else if (type != "ByteFallback" && type != "Fuse") {
    return Fail(ErrorCode::kUnsupported, "{}: {} is not supported", section.where(), Quoted(type));
  }
  return {};
}

Result<void> TokenizerJsonLoader::ReadWordPieceDecoder(const JsonView& section) {
  WEFT_ASSIGN_OR_RETURN(const std::string_view prefix,
                        section["prefix"].StringOr(kContinuationPrefix));
  if (prefix != kContinuationPrefix) {
    return Fail(ErrorCode::kUnsupported, "{} is {}, which is not supported; expected {}",
                section["prefix"].where(), Quoted(prefix), Quoted(kContinuationPrefix));
  }
  WEFT_ASSIGN_OR_RETURN(cleans_up_, section["cleanup"].BoolOr(true));
  return {};
}

// Tokens are decoded one by one, so that only the replacement of U+2581 by a space is possible.
Result<void> TokenizerJsonLoader::ReadDecoderReplace(const JsonView& section) {
  WEFT_ASSIGN_OR_RETURN(const std::string_view from, section["pattern"]["String"].String());
  WEFT_ASSIGN_OR_RETURN(const std::string_view to, section["content"].String());
  if (from != kSpaceSymbol || to != " ") {
    return Fail(ErrorCode::kUnsupported,
                "{}: replacing {} by {} is not supported; expected {} by ' '", section.where(),
                Quoted(from), Quoted(to), Quoted(kSpaceSymbol));
  }
  return {};
}

}  // namespace weft
