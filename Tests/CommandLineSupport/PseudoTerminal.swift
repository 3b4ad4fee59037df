import Foundation
import Synchronization
import TestSupport

/// A terminal of 80 columns that a test controls.
package final class PseudoTerminal: Sendable {
    /// The path that a program opens as its terminal.
    package let path: String
    private let master: Int32
    /// The program's side, kept open so that its output can be read after the program's end.
    private let slave: Int32
    private let shown = Mutex<[UInt8]>([])
    private let isHungUp = Mutex(false)

    package init() throws {
        master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (lock, number): (Int32, Int32) = (0, 0)
        guard master >= 0, ioctl(master, Self.setLock, &lock) == 0, ioctl(master, Self.getNumber, &number) == 0 else {
            throw ProgramFailure("no pseudo-terminal: \(String(cString: strerror(errno)))")
        }
        path = "/dev/pts/\(number)"
        slave = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        _ = fcntl(master, F_SETFL, O_NONBLOCK)
        var size = winsize(ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)
    }

    /// `TIOCSPTLCK` and `TIOCGPTN`, which C defines by macros that Swift cannot import.
    private static let (setLock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)

    deinit {
        close(slave)
        hangUp()
    }

    /// The output so far.
    package var text: String {
        isHungUp.withLock { isHungUp in
            var piece = [UInt8](repeating: 0, count: 65_536)
            while !isHungUp {
                let count = read(master, &piece, piece.count)
                guard count > 0 else { break }
                shown.withLock { $0 += piece[..<count] }
            }
        }
        return shown.withLock { String(decoding: $0, as: UTF8.self) }
    }

    package func type(_ line: String) {
        _ = Array((line + "\n").utf8).withUnsafeBytes { write(master, $0.baseAddress, $0.count) }
    }

    /// Presses a letter with the control key.
    package func press(control letter: Character) {
        guard var code = letter.asciiValue.map({ $0 & 0x1F }) else { return }
        _ = write(master, &code, 1)
    }

    /// Closes the terminal, as a broken connection does: every later read and write of the program fails.
    package func hangUp() {
        isHungUp.withLock { isHungUp in
            if !isHungUp { close(master) }
            isHungUp = true
        }
    }

    package func wait(for text: String) async throws {
        try await eventually("\(text) is shown, beside: \(self.text)") { self.text.contains(text) }
    }
}
