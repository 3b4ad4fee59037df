import Foundation

/// The two descriptors of a new pipe, which no child process inherits by accident.
///
/// The owner closes both.
struct PipeEnds {
    let reading: Int32
    let writing: Int32

    init() throws(CommandFailure) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw CommandFailure(
                .tryAgain,
                attempted: "making a pipe",
                cameBack: String(cString: strerror(errno)),
                whatToDo: "raise the limit of open files"
            )
        }
        (reading, writing) = (ends[0], ends[1])
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    }
}
