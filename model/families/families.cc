#include "model/families/families.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/quoted.h"
#include "model/families/decoder.h"
#include "model/families/spec_checks.h"

namespace weft {

// Each in the file of its name.
ModelDescription DescribeApertus(Hyperparameters& h);
ModelDescription DescribeArcee(Hyperparameters& h);
ModelDescription DescribeBart(Hyperparameters& h);
ModelDescription DescribeBert(Hyperparameters& h);
ModelDescription DescribeBioGpt(Hyperparameters& h);
ModelDescription DescribeBloom(Hyperparameters& h);
ModelDescription DescribeCodeGen(Hyperparameters& h);
ModelDescription DescribeCohere(Hyperparameters& h);
ModelDescription DescribeCohere2(Hyperparameters& h);
ModelDescription DescribeCohere2Moe(Hyperparameters& h);
ModelDescription DescribeCwm(Hyperparameters& h);
ModelDescription DescribeDbrx(Hyperparameters& h);
ModelDescription DescribeDeepseekV2(Hyperparameters& h);
ModelDescription DescribeDeepseekV3(Hyperparameters& h);
ModelDescription DescribeDistilBert(Hyperparameters& h);
ModelDescription DescribeDots1(Hyperparameters& h);
ModelDescription DescribeErnie45Moe(Hyperparameters& h);
ModelDescription DescribeErnie4_5(Hyperparameters& h);
ModelDescription DescribeEuroBert(Hyperparameters& h);
ModelDescription DescribeExaone4(Hyperparameters& h);
ModelDescription DescribeExaoneMoe(Hyperparameters& h);
ModelDescription DescribeFalcon(Hyperparameters& h);
ModelDescription DescribeFalconH1(Hyperparameters& h);
ModelDescription DescribeFlexOlmo(Hyperparameters& h);
ModelDescription DescribeGemma(Hyperparameters& h);
ModelDescription DescribeGemma2(Hyperparameters& h);
ModelDescription DescribeGemma3(Hyperparameters& h);
ModelDescription DescribeGemma4(Hyperparameters& h);
ModelDescription DescribeGemmaEmbedding(Hyperparameters& h);
ModelDescription DescribeGlm(Hyperparameters& h);
ModelDescription DescribeGlm4(Hyperparameters& h);
ModelDescription DescribeGlm4Moe(Hyperparameters& h);
ModelDescription DescribeGlm4MoeLite(Hyperparameters& h);
ModelDescription DescribeGpt2(Hyperparameters& h);
ModelDescription DescribeGptBigCode(Hyperparameters& h);
ModelDescription DescribeGptJ(Hyperparameters& h);
ModelDescription DescribeGptNeo(Hyperparameters& h);
ModelDescription DescribeGptNeox(Hyperparameters& h);
ModelDescription DescribeGptOss(Hyperparameters& h);
ModelDescription DescribeGranite(Hyperparameters& h);
ModelDescription DescribeGraniteMoe(Hyperparameters& h);
ModelDescription DescribeGraniteMoeHybrid(Hyperparameters& h);
ModelDescription DescribeGte(Hyperparameters& h);
ModelDescription DescribeHelium(Hyperparameters& h);
ModelDescription DescribeHunyuanDense(Hyperparameters& h);
ModelDescription DescribeHunyuanMoe(Hyperparameters& h);
ModelDescription DescribeHyperClovaX(Hyperparameters& h);
ModelDescription DescribeJais2(Hyperparameters& h);
ModelDescription DescribeJinaBert(Hyperparameters& h);
ModelDescription DescribeJinaEmbeddingsV3(Hyperparameters& h);
ModelDescription DescribeLfm2(Hyperparameters& h);
ModelDescription DescribeLfm2Moe(Hyperparameters& h);
ModelDescription DescribeLlama(Hyperparameters& h);
ModelDescription DescribeLlama4(Hyperparameters& h);
ModelDescription DescribeM2M100(Hyperparameters& h);
ModelDescription DescribeMBart(Hyperparameters& h);
ModelDescription DescribeMamba2(Hyperparameters& h);
ModelDescription DescribeMarian(Hyperparameters& h);
ModelDescription DescribeMellum(Hyperparameters& h);
ModelDescription DescribeMinimaxM2(Hyperparameters& h);
ModelDescription DescribeMistral(Hyperparameters& h);
ModelDescription DescribeMistral3(Hyperparameters& h);
ModelDescription DescribeMixtral(Hyperparameters& h);
ModelDescription DescribeModernBert(Hyperparameters& h);
ModelDescription DescribeMpnet(Hyperparameters& h);
ModelDescription DescribeMpt(Hyperparameters& h);
ModelDescription DescribeNanoChat(Hyperparameters& h);
ModelDescription DescribeNemotron(Hyperparameters& h);
ModelDescription DescribeNemotronH(Hyperparameters& h);
ModelDescription DescribeNomicBert(Hyperparameters& h);
ModelDescription DescribeOlmo(Hyperparameters& h);
ModelDescription DescribeOlmo2(Hyperparameters& h);
ModelDescription DescribeOlmo3(Hyperparameters& h);
ModelDescription DescribeOlmoe(Hyperparameters& h);
ModelDescription DescribeOpt(Hyperparameters& h);
ModelDescription DescribePegasus(Hyperparameters& h);
ModelDescription DescribePersimmon(Hyperparameters& h);
ModelDescription DescribePhi2(Hyperparameters& h);
ModelDescription DescribePhi3(Hyperparameters& h);
ModelDescription DescribePhimoe(Hyperparameters& h);
ModelDescription DescribeQwen2(Hyperparameters& h);
ModelDescription DescribeQwen2Moe(Hyperparameters& h);
ModelDescription DescribeQwen3(Hyperparameters& h);
ModelDescription DescribeQwen35(Hyperparameters& h);
ModelDescription DescribeQwen35Moe(Hyperparameters& h);
ModelDescription DescribeQwen3Moe(Hyperparameters& h);
ModelDescription DescribeQwen3Next(Hyperparameters& h);
ModelDescription DescribeRoberta(Hyperparameters& h);
ModelDescription DescribeSeedOss(Hyperparameters& h);
ModelDescription DescribeSmolLm3(Hyperparameters& h);
ModelDescription DescribeSolarOpen(Hyperparameters& h);
ModelDescription DescribeStablelm(Hyperparameters& h);
ModelDescription DescribeStarcoder2(Hyperparameters& h);
ModelDescription DescribeVaultGemma(Hyperparameters& h);
ModelDescription DescribeT5(Hyperparameters& h);
ModelDescription DescribeT5Encoder(Hyperparameters& h);
ModelDescription DescribeXglm(Hyperparameters& h);

namespace {

// GGUF gives several families one name: the first row of a name is asked.
constexpr Family kFamilies[] = {
    {"apertus", "ApertusForCausalLM", "apertus", DescribeApertus},
    {"arcee", "ArceeForCausalLM", "arcee", DescribeArcee},
    {"", "BartForConditionalGeneration", "bart", DescribeBart},
    {"bert", "BertModel", "bert", DescribeBert},
    {"", "BioGptForCausalLM", "biogpt", DescribeBioGpt},
    {"bloom", "BloomForCausalLM", "bloom", DescribeBloom},
    {"", "CamembertModel", "camembert", DescribeRoberta},
    {"", "CodeGenForCausalLM", "codegen", DescribeCodeGen},
    {"cohere2", "Cohere2ForCausalLM", "cohere2", DescribeCohere2},
    {"cohere2moe", "Cohere2MoeForCausalLM", "cohere2moe", DescribeCohere2Moe},
    {"command-r", "CohereForCausalLM", "cohere", DescribeCohere},
    {"", "CwmForCausalLM", "cwm", DescribeCwm},
    {"dbrx", "DbrxForCausalLM", "dbrx", DescribeDbrx},
    {"deepseek2", "DeepseekV2ForCausalLM", "deepseek_v2", DescribeDeepseekV2},
    {"", "DeepseekV3ForCausalLM", "deepseek_v3", DescribeDeepseekV3},
    {"", "DistilBertModel", "distilbert", DescribeDistilBert},
    {"dots1", "Dots1ForCausalLM", "dots1", DescribeDots1},
    {"ernie4_5-moe", "Ernie4_5_MoeForCausalLM", "ernie4_5_moe", DescribeErnie45Moe},
    {"ernie4_5", "Ernie4_5ForCausalLM", "ernie4_5", DescribeErnie4_5},
    {"eurobert", "EuroBertModel", "eurobert", DescribeEuroBert},
    {"exaone4", "Exaone4ForCausalLM", "exaone4", DescribeExaone4},
    {"exaone-moe", "ExaoneMoeForCausalLM", "exaone_moe", DescribeExaoneMoe},
    {"falcon-h1", "FalconH1ForCausalLM", "falcon_h1", DescribeFalconH1},
    {"falcon", "FalconForCausalLM", "falcon", DescribeFalcon},
    {"", "FlexOlmoForCausalLM", "flex_olmo", DescribeFlexOlmo},
    {"gemma2", "Gemma2ForCausalLM", "gemma2", DescribeGemma2},
    {"gemma3", "Gemma3ForCausalLM", "gemma3_text", DescribeGemma3},
    {"gemma-embedding", "Gemma3TextModel", "", DescribeGemmaEmbedding},
    {"gemma4", "Gemma4ForCausalLM", "gemma4_text", DescribeGemma4},
    {"gemma", "GemmaForCausalLM", "gemma", DescribeGemma},
    {"glm4", "Glm4ForCausalLM", "glm4", DescribeGlm4},
    {"glm4moe", "Glm4MoeForCausalLM", "glm4_moe", DescribeGlm4Moe},
    {"", "Glm4MoeLiteForCausalLM", "glm4_moe_lite", DescribeGlm4MoeLite},
    {"chatglm", "GlmForCausalLM", "glm", DescribeGlm},
    {"gpt2", "GPT2LMHeadModel", "gpt2", DescribeGpt2},
    {"starcoder", "GPTBigCodeForCausalLM", "gpt_bigcode", DescribeGptBigCode},
    {"", "GPTJForCausalLM", "gptj", DescribeGptJ},
    {"", "GPTNeoForCausalLM", "gpt_neo", DescribeGptNeo},
    {"gptneox", "GPTNeoXForCausalLM", "gpt_neox", DescribeGptNeox},
    {"gpt-oss", "GptOssForCausalLM", "gpt_oss", DescribeGptOss},
    {"granite", "GraniteForCausalLM", "granite", DescribeGranite},
    {"granitemoe", "GraniteMoeForCausalLM", "granitemoe", DescribeGraniteMoe},
    {"granitehybrid", "GraniteMoeHybridForCausalLM", "granitemoehybrid", DescribeGraniteMoeHybrid},
    {"", "GraniteMoeSharedForCausalLM", "granitemoeshared", DescribeGraniteMoe},
    {"", "GteModel", "gte", DescribeGte},
    {"", "HeliumForCausalLM", "helium", DescribeHelium},
    {"hunyuan-dense", "HunYuanDenseV1ForCausalLM", "hunyuan_v1_dense", DescribeHunyuanDense},
    {"hunyuan-moe", "HunYuanMoEV1ForCausalLM", "hunyuan_v1_moe", DescribeHunyuanMoe},
    {"", "HyperCLOVAXForCausalLM", "hyperclovax", DescribeHyperClovaX},
    {"jais2", "Jais2ForCausalLM", "jais2", DescribeJais2},
    {"jina-bert-v2", "JinaBertModel", "", DescribeJinaBert},
    {"jina-bert-v3", "JinaEmbeddingsV3Model", "jina_embeddings_v3", DescribeJinaEmbeddingsV3},
    {"llama4", "Llama4ForCausalLM", "llama4_text", DescribeLlama4},
    {"lfm2", "Lfm2ForCausalLM", "lfm2", DescribeLfm2},
    {"lfm2moe", "Lfm2MoeForCausalLM", "lfm2_moe", DescribeLfm2Moe},
    {"llama", "LlamaForCausalLM", "llama", DescribeLlama},
    {"", "M2M100ForConditionalGeneration", "m2m_100", DescribeM2M100},
    {"mamba2", "Mamba2ForCausalLM", "mamba2", DescribeMamba2},
    {"", "MarianMTModel", "marian", DescribeMarian},
    {"", "MBartForConditionalGeneration", "mbart", DescribeMBart},
    {"mellum", "MellumForCausalLM", "mellum", DescribeMellum},
    {"minimax-m2", "MiniMaxM2ForCausalLM", "minimax_m2", DescribeMinimaxM2},
    {"mistral3", "Ministral3ForCausalLM", "ministral3", DescribeMistral3},
    {"", "MinistralForCausalLM", "ministral", DescribeMistral},
    {"", "MistralForCausalLM", "mistral", DescribeMistral},
    {"", "MixtralForCausalLM", "mixtral", DescribeMixtral},
    {"modern-bert", "ModernBertModel", "modernbert", DescribeModernBert},
    {"", "MPNetModel", "mpnet", DescribeMpnet},
    {"", "MptForCausalLM", "", DescribeMpt},
    {"mpt", "MPTForCausalLM", "mpt", DescribeMpt},
    {"", "MT5ForConditionalGeneration", "mt5", DescribeT5},
    {"", "NanoChatForCausalLM", "nanochat", DescribeNanoChat},
    {"nemotron_h", "NemotronHForCausalLM", "nemotron_h", DescribeNemotronH},
    {"nemotron_h_moe", "", "", DescribeNemotronH},
    {"nemotron", "NemotronForCausalLM", "nemotron", DescribeNemotron},
    {"", "NewModel", "new", DescribeGte},
    // Its class is the next one's.
    {"nomic-bert-moe", "", "", DescribeNomicBert},
    {"nomic-bert", "NomicBertModel", "nomic_bert", DescribeNomicBert},
    {"olmo2", "Olmo2ForCausalLM", "olmo2", DescribeOlmo2},
    {"", "Olmo3ForCausalLM", "olmo3", DescribeOlmo3},
    {"olmoe", "OlmoeForCausalLM", "olmoe", DescribeOlmoe},
    {"olmo", "OlmoForCausalLM", "olmo", DescribeOlmo},
    {"", "OPTForCausalLM", "opt", DescribeOpt},
    {"", "PegasusForConditionalGeneration", "pegasus", DescribePegasus},
    {"", "PersimmonForCausalLM", "persimmon", DescribePersimmon},
    {"phi3", "Phi3ForCausalLM", "phi3", DescribePhi3},
    {"phi2", "PhiForCausalLM", "phi", DescribePhi2},
    {"", "PhimoeForCausalLM", "", DescribePhimoe},
    {"phimoe", "PhiMoEForCausalLM", "phimoe", DescribePhimoe},
    {"qwen2", "Qwen2ForCausalLM", "qwen2", DescribeQwen2},
    {"qwen2moe", "Qwen2MoeForCausalLM", "qwen2_moe", DescribeQwen2Moe},
    {"qwen3", "Qwen3ForCausalLM", "qwen3", DescribeQwen3},
    {"qwen35", "Qwen3_5ForCausalLM", "qwen3_5_text", DescribeQwen35},
    {"qwen35moe", "Qwen3_5MoeForCausalLM", "qwen3_5_moe_text", DescribeQwen35Moe},
    {"qwen3moe", "Qwen3MoeForCausalLM", "qwen3_moe", DescribeQwen3Moe},
    {"qwen3next", "Qwen3NextForCausalLM", "qwen3_next", DescribeQwen3Next},
    {"", "RobertaModel", "roberta", DescribeRoberta},
    {"seed_oss", "SeedOssForCausalLM", "seed_oss", DescribeSeedOss},
    {"smollm3", "SmolLM3ForCausalLM", "smollm3", DescribeSmolLm3},
    {"", "SolarOpenForCausalLM", "solar_open", DescribeSolarOpen},
    {"stablelm", "StableLmForCausalLM", "stablelm", DescribeStablelm},
    {"starcoder2", "Starcoder2ForCausalLM", "starcoder2", DescribeStarcoder2},
    {"t5encoder", "T5EncoderModel", "", DescribeT5Encoder},
    {"t5", "T5ForConditionalGeneration", "t5", DescribeT5},
    {"", "VaultGemmaForCausalLM", "vaultgemma", DescribeVaultGemma},
    {"", "XGLMForCausalLM", "xglm", DescribeXglm},
    {"", "XLMRobertaModel", "xlm-roberta", DescribeRoberta},
};

// Models for images and text, of which the text is served. Others may treat it differently where
// there are images, so that a name is no guess.
constexpr std::array<std::string_view, 7> kClassesWithTowers = {
    "Gemma3ForConditionalGeneration",        "Gemma4ForConditionalGeneration",
    "Gemma4UnifiedForConditionalGeneration", "Llama4ForConditionalGeneration",
    "Mistral3ForConditionalGeneration",      "Qwen3_5ForConditionalGeneration",
    "Qwen3_5MoeForConditionalGeneration"};
constexpr std::string_view kTextConfig = "text_config.";

// Classes that differ from one of the table in the end of their name: models with another head, or
// without one.
constexpr std::string_view kClassifier = "ForSequenceClassification";
constexpr std::string_view kHeadless = "Model";
constexpr std::pair<std::string_view, std::string_view> kOtherEnds[] = {
    {"ForMaskedLM", "Model"},     {"ForPreTraining", "Model"},  {kClassifier, "Model"},
    {kClassifier, "ForCausalLM"}, {kClassifier, "LMHeadModel"}, {kHeadless, "ForCausalLM"},
    {kHeadless, "LMHeadModel"},
};

const Family* FindHfClass(std::string_view name) {
  const Family* family = std::ranges::find(kFamilies, name, &Family::hf_class);
  for (const auto& [end, of_table] : kOtherEnds) {
    if (family != std::end(kFamilies) || !name.ends_with(end)) continue;
    const std::string base = std::string(name.substr(0, name.size() - end.size()));
    family = std::ranges::find(kFamilies, base + std::string(of_table), &Family::hf_class);
  }
  return family;
}

// A string, or the first of several; empty: neither is there.
std::string StringIn(const ConfigValues& values, std::string_view key) {
  const auto found = values.find(key);
  if (found == values.end()) return "";
  if (const auto* one = std::get_if<std::string>(&found->second)) return *one;
  const auto* list = std::get_if<std::vector<std::string>>(&found->second);
  return list != nullptr && !list->empty() ? list->front() : "";
}

// What is in text_config, and what stands outside of it but is about the text, too.
ConfigValues TextConfigOf(const ConfigValues& values) {
  ConfigValues text;
  for (const auto& [key, value] : values) {
    if (key.starts_with(kTextConfig)) text[key.substr(kTextConfig.size())] = value;
  }
  const auto tied = values.find("tie_word_embeddings");
  if (tied != values.end()) text.try_emplace(tied->first, tied->second);
  return text;
}

// The table's names of one kind.
std::string KnownNames(std::string_view Family::*kind) {
  std::string names;
  for (const Family& family : kFamilies) {
    const std::string_view name = family.*kind;
    if (!name.empty()) names.append(names.empty() ? "" : ", ").append(name);
  }
  return names;
}

Result<ModelDescription> Checked(Hyperparameters& hyperparameters,
                                 ModelDescription (*describe)(Hyperparameters&)) {
  ModelDescription description = describe(hyperparameters);
  // Sizes that cannot be come before the keys that nobody has read.
  WEFT_RETURN_IF_ERROR(hyperparameters.CheckSoFar());
  WEFT_RETURN_IF_ERROR(CheckSpec(description.spec, hyperparameters.path()));
  WEFT_RETURN_IF_ERROR(hyperparameters.Finish());
  return description;
}

}  // namespace

std::span<const Family> Families() { return kFamilies; }

Result<ModelDescription> DescribeGguf(const GgufFile& file) {
  const GgufMetadata& metadata = file.metadata;
  WEFT_ASSIGN_OR_RETURN(const std::optional<std::string_view> architecture,
                        metadata.GetString("general.architecture"));
  if (!architecture) {
    return Fail(ErrorCode::kInvalidArgument, "{}: metadata key general.architecture is missing",
                metadata.path());
  }
  const auto* family = std::ranges::find(kFamilies, *architecture, &Family::gguf);
  if (architecture->empty() || family == std::end(kFamilies)) {
    return Fail(ErrorCode::kUnsupported,
                "{}: general.architecture {} is not supported; known are {}", metadata.path(),
                Quoted(*architecture), KnownNames(&Family::gguf));
  }
  WEFT_ASSIGN_OR_RETURN(const std::optional<std::string_view> name,
                        metadata.GetString("general.name"));
  Hyperparameters hyperparameters =
      Hyperparameters::FromGguf(metadata, *architecture, file.tensors);
  WEFT_ASSIGN_OR_RETURN(ModelDescription description, Checked(hyperparameters, family->describe));
  description.spec.name = name.value_or(*architecture);
  return description;
}

Result<ModelDescription> DescribeHf(ConfigValues values, const std::string& path) {
  static const TensorMap kUnread;  // config.json says all
  const std::string name = StringIn(values, "_name_or_path");
  const std::string whole = StringIn(values, "architectures");
  const bool is_text_tower =
      std::ranges::find(kClassesWithTowers, whole) != kClassesWithTowers.end();
  if (is_text_tower) values = TextConfigOf(values);
  const std::string hf_class = is_text_tower ? "" : whole;
  const std::string hf_type = StringIn(values, "model_type");
  if (hf_class.empty() && hf_type.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "{}: neither architectures nor model_type is there",
                path);
  }
  const auto* family = hf_class.empty() ? std::ranges::find(kFamilies, hf_type, &Family::hf_type)
                                        : FindHfClass(hf_class);
  if (family == std::end(kFamilies)) {
    return Fail(
        ErrorCode::kUnsupported, "{}: {} is not supported; known are {}", path,
        hf_class.empty() ? "model_type " + Quoted(hf_type) : "architecture " + Quoted(hf_class),
        KnownNames(&Family::hf_class));
  }
  Hyperparameters hyperparameters(FileFormat::kSafetensors, path,
                                  is_text_tower ? std::string(kTextConfig) : "", std::move(values),
                                  kUnread);
  if (hf_class.ends_with(kHeadless) && hf_class != family->hf_class) {
    hyperparameters.set_is_headless();
  }
  if (hf_class.ends_with(kClassifier)) hyperparameters.set_has_classifier();
  WEFT_ASSIGN_OR_RETURN(ModelDescription description, Checked(hyperparameters, family->describe));
  if (hyperparameters.has_classifier() && !description.spec.classifier) {
    return Fail(ErrorCode::kUnsupported, "{}: architecture {}: its classifier is not supported",
                path, Quoted(hf_class));
  }
  description.spec.name = name;
  description.is_text_tower = is_text_tower;
  return description;
}

}  // namespace weft
