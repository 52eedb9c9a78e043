// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Answers prompts with the language model in a folder that `rx.llm.load("model.gguf").save(folder)` has written:
//
//   echo 1 4093 198 | chat [--ids] <libtvm_ffi_orcjit.so> <folder> <most tokens of an answer> <threads>
//
// Each line of the input has the numbers of a prompt's tokens, which a library of tokenizers computes with the folder's
// tokenizer.json, and continues the conversation. The likeliest token is taken each time. --ids: answer with numbers.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <sstream>

#include "rxa.h"
#include "tensors.h"

using Clock = std::chrono::steady_clock;
using Tokens = std::vector<int32_t>;

int32_t Number(const std::string& word, int32_t least) {
  int32_t number = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || *end != 0 || number < least)
    TVM_FFI_THROW(ValueError) << "'" << word << "': expected a number from " << least;
  return number;
}

ffi::json::Object ReadJson(const std::string& path) {
  rxa::File file(path);
  ffi::String problem;
  ffi::Any found = ffi::json::Parse(ffi::String(file->data, file->size), &problem);
  if (!problem.empty()) TVM_FFI_THROW(RuntimeError) << path << ": damaged: save the model again";
  return found.cast<ffi::json::Object>();
}

// Reads the bytes of each token: a line for each token, two hexadecimal digits for each byte.
std::vector<std::string> ReadTexts(const std::string& path) {
  rxa::File file(path);
  std::istringstream lines(std::string(file->data, file->size));
  std::vector<std::string> texts;
  for (std::string line; std::getline(lines, line);) {
    std::string& text = texts.emplace_back();
    for (size_t i = 0; i < line.size(); i += 2) text.push_back(std::stoi(line.substr(i, 2), nullptr, 16));
  }
  return texts;
}

// One sequence of tokens. Keys and values of the tokens are in pages, the last arguments of the model's function.
class Sequence {
 public:
  Sequence(const rxa::Program& program, int64_t context) : context_(context), main_(program["main"]) {
    ffi::json::Array inputs = program.inputs("main");
    for (size_t number = 6; number < inputs.size(); ++number) {  // behind the arguments that `Add` makes
      ffi::json::Object input = inputs[number].cast<ffi::json::Object>();
      std::vector<int64_t> shape;
      for (const ffi::Any& size : input["shape"].cast<ffi::json::Array>()) {
        shape.push_back(shape.empty() ? 0 : size.cast<int64_t>());  // no page yet
      }
      pages_.push_back(Empty(shape, ffi::StringToDLDataType(input["dtype"].cast<ffi::String>())));
    }
    if (pages_.empty()) TVM_FFI_THROW(ValueError) << "the program takes no pages: it is no language model";
  }

  bool is_full() const { return length_ == context_; }

  // Adds tokens to the sequence, and returns the likeliest next one.
  int32_t Add(const Tokens& tokens) {
    const int64_t count = tokens.size(), page_size = pages_[0].size(1), used = (length_ + count - 1) / page_size + 1;
    if (length_ + count > context_) TVM_FFI_THROW(ValueError) << "the model has a context of " << context_ << " tokens";
    if (used > pages_[0].size(0)) Grow(2 * used);
    Tokens places(count), numbers(used);
    for (int64_t i = 0; i < count; ++i) places[i] = length_ + i;
    for (int64_t i = 0; i < used; ++i) numbers[i] = i;
    ffi::Tensor positions = Ints({count}, places);
    std::vector<ffi::Any> arguments = {
        Ints({count}, tokens), positions, Ints({count}, Tokens(count)), positions,  // positions, sequences, slots
        Ints({1, used}, numbers),                                                   // the pages of each sequence
        Ints({1}, {static_cast<int32_t>(count - 1)}),                               // the tokens with wanted logits
    };
    arguments.insert(arguments.end(), pages_.begin(), pages_.end());
    std::vector<ffi::AnyView> views(arguments.begin(), arguments.end());
    ffi::Any result;
    main_.CallPacked(views.data(), views.size(), &result);  // writes to the pages
    length_ += count;
    ffi::Tensor logits = result.cast<ffi::Tensor>();
    const float* data = static_cast<const float*>(logits.data_ptr());
    return std::max_element(data, data + logits.numel()) - data;
  }

 private:
  // Makes room for more pages, with zeros.
  void Grow(int64_t count) {
    for (ffi::Tensor& pages : pages_) {
      std::vector<int64_t> shape(pages.shape().begin(), pages.shape().end());
      shape[0] = count;
      ffi::Tensor grown = Empty(shape, pages.dtype());
      std::memset(grown.data_ptr(), 0, ffi::GetDataSize(grown));
      std::memcpy(grown.data_ptr(), pages.data_ptr(), ffi::GetDataSize(pages));
      pages = grown;
    }
  }

  int64_t context_, length_ = 0;
  ffi::Function main_;
  std::vector<ffi::Tensor> pages_;
};

int main(int argc, char** argv) {
  const bool shows_ids = argc > 1 && std::string(argv[1]) == "--ids";
  const std::vector<std::string> words(argv + 1 + shows_ids, argv + argc);
  if (words.size() != 4) {
    std::cerr << "usage: chat [--ids] <libtvm_ffi_orcjit.so> <folder> <most tokens of an answer> <threads>\n";
    return 2;
  }
  try {
    const size_t most = Number(words[2], 1);
    rxa::Program program(words[1] + "/program.rxa", words[0]);
    program.SetThreads(Number(words[3], 1));
    Sequence sequence(program, ReadJson(words[1] + "/model.json")["context"].cast<int64_t>());
    const auto ends = ReadJson(words[1] + "/tokens.json")["ends"].cast<ffi::Array<int64_t>>();
    const std::vector<std::string> texts = ReadTexts(words[1] + "/tokens.hex");
    Tokens next;  // the last token of an answer is computed with the next prompt
    for (std::string line, word; std::getline(std::cin, line);) {
      const size_t left = next.size();
      for (std::istringstream numbers(line); numbers >> word; next.push_back(Number(word, 0))) {
        if (Number(word, 0) >= static_cast<int64_t>(texts.size()))
          TVM_FFI_THROW(ValueError) << "the prompt has the token " << word << ", expected 0 to " << texts.size() - 1;
      }
      if (next.size() == left) continue;
      std::vector<Clock::time_point> times = {Clock::now()};
      do {
        next = {sequence.Add(next)};
        times.push_back(Clock::now());
        if (std::find(ends.begin(), ends.end(), next[0]) != ends.end()) break;
        std::cout << (shows_ids ? std::to_string(next[0]) + " " : texts[next[0]]) << std::flush;
      } while (times.size() <= most && !sequence.is_full());
      const std::chrono::duration<double> first = times[1] - times[0], others = times.back() - times[1];
      std::cout << std::endl;
      std::cerr << "first token after " << first.count() << " s, then "
                << (times.size() - 2) / (others.count() + 1e-9) << " tokens/s" << std::endl;
    }
  } catch (const std::exception& error) {
    std::cerr << "chat: " << error.what() << std::endl;
    return 1;
  }
  return 0;
}
