// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads a program that relax-compile has made, from C++: one header over tvm-ffi's and its object loader's libraries.
//
//   rxa::Program program("model.rxa", "/path/to/libtvm_ffi_orcjit.so");
//   tvm::ffi::Any y = program["main"](x, w);
//
// A file that cannot be loaded and an argument that does not fit raise a tvm::ffi::Error. The file is native
// code: load only files that you trust. rx.runtime.load and relax-run check its checksums and signatures. This header
// checks its structure, and refuses a truncated file or another version.

#ifndef RXA_H_
#define RXA_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace rxa {

namespace ffi = tvm::ffi;

// A file in memory, for as long as somebody needs it: code refers to the constants in it.
class FileObj : public ffi::Object {
 public:
  explicit FileObj(const std::string& path) {
    int file = open(path.c_str(), O_RDONLY);
    struct stat status;
    if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
      size = static_cast<size_t>(status.st_size);
      data = static_cast<char*>(mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0));
    }
    if (file >= 0) close(file);
    if (data == nullptr || data == MAP_FAILED) {
      data = nullptr;
      TVM_FFI_THROW(RuntimeError) << path << ": cannot be read";
    }
  }
  ~FileObj() {
    if (data != nullptr) munmap(data, size);
  }

  char* data = nullptr;
  size_t size = 0;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("rxa.File", FileObj, ffi::Object);
};

class File : public ffi::ObjectRef {
 public:
  explicit File(const std::string& path) : ffi::ObjectRef(ffi::make_object<FileObj>(path)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(File, ffi::ObjectRef, FileObj);
};

// Layout of the first 64 bytes of the file; all numbers are little-endian.
struct Header {
  char magic[8];
  uint32_t version;
  uint32_t manifest_bytes;
  uint64_t code_bytes;
  uint64_t file_bytes;
  char digest[32];
};
static_assert(sizeof(Header) == 64, "the file's header has 64 bytes");

constexpr uint64_t kAlignment = 64;
inline uint64_t Padded(uint64_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

// Thread limit of a program. The code reads the limit at each loop, and owns it.
class LimitObj : public ffi::Object {
 public:
  int64_t threads = 1;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("rxa.Limit", LimitObj, ffi::Object);
};

class Program {
 public:
  // `loader` is libtvm_ffi_orcjit.so of the package apache-tvm-ffi-orcjit.
  Program(const std::string& path, const std::string& loader) : path_(path) {
    static ffi::Module library = ffi::Module::LoadFromFile(loader);  // stays until the process ends
    File file(path);
    Header header;
    Require(file->size >= sizeof(Header), "not a program: too short");
    std::memcpy(&header, file->data, sizeof(Header));
    Require(std::memcmp(header.magic, "\x89RXA\r\n\x1a\n", 8) == 0, "not a program: it does not begin like one");
    Require(3 <= header.version && header.version <= 5,
            "its format version is " + std::to_string(header.version) + ", this reads versions 3 to 5");
    Require(header.file_bytes == file->size, "damaged: its header tells another size");
    uint64_t code = Padded(sizeof(Header) + header.manifest_bytes);
    Require(code <= file->size && header.code_bytes <= file->size - code, "damaged: its parts reach beyond its end");
    uint64_t constants = code + header.code_bytes;
    ffi::String problem;
    ffi::Any parsed = ffi::json::Parse(
        ffi::String(std::string(file->data + sizeof(Header), header.manifest_bytes)), &problem);
    Require(problem.empty(), "damaged: its manifest is not JSON");
    manifest_ = parsed.cast<ffi::json::Object>();
    Require(manifest_.count(ffi::String("devices")) == 0, "its kernels are for a device, on which Python only loads them");
    LoadObjects(file, code, constants);
    SetConstants(file, constants);
    SetFunctions();
  }

  // A function by its name; raises where there is none.
  ffi::Function operator[](const std::string& name) const {
    ffi::Optional<ffi::Function> found = module_.value()->GetFunction(name);
    Require(found.has_value(), "it has no function '" + name + "'");
    return found.value();
  }

  // The arguments of a function: objects with name, kind, dtype and shape. A dynamic size in a shape is a name.
  ffi::json::Array inputs(const std::string& name) const {
    for (const ffi::Any& entry : List(manifest_, "entries")) {
      ffi::json::Object found = entry.cast<ffi::json::Object>();
      if (found["name"].cast<ffi::String>() == name) return List(found, "inputs");
    }
    Require(false, "it has no function '" + name + "'");
    return {};
  }

  // Sets the most threads of a call, including the caller's; 1 before. The destructor ends the other threads: functions
  // that outlive this program then run in the calling thread.
  void SetThreads(int64_t count) {
    Require(1 <= count && count <= 256, std::to_string(count) + " threads: expected a number from 1 to 256");
    ffi::Optional<ffi::Function> set = module_.value()->GetFunction("__relax_set_threads");
    if (!set.has_value()) return;  // it has no loops to share
    if (limit_ == nullptr) {
      limit_ = ffi::make_object<LimitObj>();
      void* table[] = {reinterpret_cast<void*>((*this)["__relax_pool"]().cast<int64_t>()), &limit_->threads};
      ffi::Function end = (*this)["__relax_pool_end"];
      set.value()(static_cast<void*>(table), int64_t{2}, ffi::ObjectRef(limit_));
      pool_ = std::shared_ptr<void>(nullptr, [end](void*) { end(); });
    }
    limit_->threads = count;
  }

  // The names of the functions.
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const ffi::Any& entry : List(manifest_, "entries")) {
      found.push_back(entry.cast<ffi::json::Object>()["name"].cast<ffi::String>());
    }
    return found;
  }

 private:
  // The object files lie one behind the other; the loader links them with each other.
  void LoadObjects(const File& file, uint64_t start, uint64_t end) {
    ffi::Array<ffi::Any> objects;
    for (const ffi::Any& each : List(manifest_, "objects")) {
      uint64_t size = static_cast<uint64_t>(each.cast<int64_t>());
      Require(size <= end - start && Padded(size) <= end - start, "damaged: its objects reach beyond the code");
      objects.push_back(ffi::Bytes(file->data + start, size));
      start += Padded(size);
    }
    ffi::Any session = ffi::Function::GetGlobalRequired("tvm_ffi_orcjit.GlobalDefaultSession")();
    ffi::Function load = ffi::Function::GetGlobalRequired("tvm_ffi_orcjit.SessionLoadModule");
    module_ = load(session, objects, "", nullptr, nullptr).cast<ffi::Module>();
  }

  // Tells the code where its constants are. It keeps the file from here on: functions may outlive the program.
  void SetConstants(const File& file, uint64_t start) const {
    std::vector<void*> table;
    for (const ffi::Any& each : List(manifest_, "constants")) {
      ffi::json::Object place = each.cast<ffi::json::Object>();
      uint64_t offset = static_cast<uint64_t>(place["offset"].cast<int64_t>());
      uint64_t size = static_cast<uint64_t>(place["size"].cast<int64_t>());
      uint64_t room = file->size - start;
      Require(offset <= room && size <= room - offset && offset % kAlignment == 0, "damaged: a constant is not in it");
      table.push_back(file->data + start + offset);
    }
    if (table.empty()) return;
    ffi::Optional<ffi::Function> set = module_.value()->GetFunction("__relax_set_constants");
    Require(set.has_value(), "damaged: its code takes no constants");
    set.value()(static_cast<void*>(table.data()), static_cast<int64_t>(table.size()), file);
  }

  // Give the code the functions of the parts of external codegens. Parts that come as bytes need a runtime in Python.
  void SetFunctions() const {
    if (manifest_.count(ffi::String("externals")) == 0) return;
    std::map<std::string, ffi::Function> made;
    for (const ffi::Any& each : List(manifest_, "externals")) {
      ffi::json::Object part = each.cast<ffi::json::Object>();
      std::string name = part["name"].cast<ffi::String>(), codegen = part["codegen"].cast<ffi::String>();
      Require(part.count(ffi::String("offset")) == 0,
              "its part '" + name + "' is run by codegen '" + codegen + "' in Python only");
      for (const ffi::Any& function : List(part, "functions")) {
        std::string symbol = name + "." + std::string(function.cast<ffi::String>());
        made.emplace(symbol, (*this)[symbol]);
      }
    }
    std::vector<void*> table;
    ffi::Array<ffi::Any> owners;
    for (const ffi::Any& each : manifest_.count(ffi::String("calls")) ? List(manifest_, "calls") : ffi::json::Array()) {
      auto found = made.find(each.cast<ffi::String>());
      if (found != made.end()) owners.push_back(found->second);
      table.push_back(found == made.end() ? nullptr
                                          : ffi::details::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(found->second));
    }
    if (owners.empty()) return;
    ffi::Optional<ffi::Function> set = module_.value()->GetFunction("__relax_set_functions");
    Require(set.has_value(), "damaged: its code takes no functions");
    set.value()(static_cast<void*>(table.data()), static_cast<int64_t>(table.size()), owners);
  }

  ffi::json::Array List(const ffi::json::Object& object, const char* key) const {
    Require(object.count(ffi::String(key)) > 0, std::string("damaged: its manifest lacks '") + key + "'");
    return object[ffi::String(key)].cast<ffi::json::Array>();
  }

  void Require(bool condition, const std::string& problem) const {
    if (!condition) TVM_FFI_THROW(RuntimeError) << path_ << ": " << problem;
  }

  std::string path_;
  ffi::json::Object manifest_;
  ffi::Optional<ffi::Module> module_;
  ffi::ObjectPtr<LimitObj> limit_;
  std::shared_ptr<void> pool_;
};

}  // namespace rxa

#endif  // RXA_H_
