#include "model/tokenizer/renamed_pieces.h"

#include <utility>

#include "base/check.h"

namespace weft {
namespace {

class RenamedModel final : public PieceModel {
 public:
  RenamedModel(std::unique_ptr<const PieceModel> model, std::vector<TokenId> ids)
      : model_(std::move(model)), ids_(std::move(ids)) {}

  // The scratch's cache is the model's own, so that it has the ids from before.
  void Encode(std::string_view piece, PieceScratch* scratch,
              std::vector<TokenId>* ids) const override {
    const size_t first = ids->size();
    model_->Encode(piece, scratch, ids);
    Rename(first, ids);
  }

  void EncodeInvalidByte(char byte, PieceScratch* scratch,
                         std::vector<TokenId>* ids) const override {
    const size_t first = ids->size();
    model_->EncodeInvalidByte(byte, scratch, ids);
    Rename(first, ids);
  }

 private:
  void Rename(size_t first, std::vector<TokenId>* ids) const {
    for (size_t i = first; i < ids->size(); ++i) {
      const auto old = static_cast<size_t>((*ids)[i]);
      WEFT_CHECK(old < ids_.size());
      (*ids)[i] = ids_[old];
    }
  }

  std::unique_ptr<const PieceModel> model_;
  std::vector<TokenId> ids_;
};

}  // namespace

std::unique_ptr<PieceModel> MakeRenamedModel(std::unique_ptr<const PieceModel> model,
                                             std::vector<TokenId> ids) {
  return std::make_unique<RenamedModel>(std::move(model), std::move(ids));
}

}  // namespace weft
