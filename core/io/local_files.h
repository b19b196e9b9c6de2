#ifndef FEEDMILL_CORE_IO_LOCAL_FILES_H_
#define FEEDMILL_CORE_IO_LOCAL_FILES_H_

#include "core/io/file_system.h"

namespace feedmill {

// The file system of this machine. A name is a path, or "file://" and an
// absolute path, both taken literally. A pattern may be relative to the current
// folder; the names it finds are absolute paths.
//
// A file that is read at many places is mapped (RandomAccessFile::Mapping).
const FileSystem& LocalFileSystem();

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_LOCAL_FILES_H_
