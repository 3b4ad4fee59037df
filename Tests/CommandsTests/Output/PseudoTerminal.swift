import Foundation
import Synchronization
import TestSupport

/// A terminal of 80 columns with nobody behind it but a test.
final class PseudoTerminal: Sendable {
    /// What a program opens as its terminal.
    let path: String
    private let master: Int32
    /// Held, so that what was shown can be read after the program's end.
    private let slave: Int32
    private let shown = Mutex<[UInt8]>([])
    private let isHungUp = Mutex(false)

    init() throws {
        master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)
        var name = [CChar](repeating: 0, count: 128)
        guard master >= 0, grantpt(master) == 0, unlockpt(master) == 0, ptsname_r(master, &name, name.count) == 0 else {
            throw PoolTrouble("no pseudo-terminal: \(String(cString: strerror(errno)))")
        }
        path = name.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
        slave = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        _ = fcntl(master, F_SETFL, O_NONBLOCK)
        var size = winsize(ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)
    }

    deinit {
        close(slave)
        hangUp()
    }

    /// Everything that it has shown so far.
    var text: String {
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

    func type(_ line: String) {
        _ = Array((line + "\n").utf8).withUnsafeBytes { write(master, $0.baseAddress, $0.count) }
    }

    /// As when a connection breaks: from here on every read and write of the program fails.
    func hangUp() {
        isHungUp.withLock { isHungUp in
            if !isHungUp { close(master) }
            isHungUp = true
        }
    }

    func wait(for text: String) async throws {
        let deadline = ContinuousClock.now + LongestWait.duration
        while !self.text.contains(text) {
            guard ContinuousClock.now < deadline else { throw PoolTrouble("never shown: \(text); but: \(self.text)") }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}
