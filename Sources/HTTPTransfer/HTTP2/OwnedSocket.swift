import Glibc

/// A socket that is closed with its last reference.
final class OwnedSocket {
    let descriptor: CInt

    /// Takes ownership of the descriptor.
    init(owning descriptor: CInt) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }
}
