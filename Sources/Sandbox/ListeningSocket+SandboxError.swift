import HTTPServer
import ServiceRuntime

extension ListeningSocket {
    /// Opens a socket and reports failures as errors of the sandbox.
    static func listen(on address: ListenAddress) throws(SandboxError) -> ListeningSocket {
        do throws(HTTPServerError) {
            return try open(address)
        } catch {
            throw SandboxError(error)
        }
    }
}

extension SandboxError {
    /// Converts the error of a server that could not start.
    init(_ error: HTTPServerError) {
        let code: Code =
            switch error.code {
            case .addressTaken: .addressTaken
            case .addressUnusable: .addressUnusable
            case .resources: .resources
            }
        self.init(code, attempted: "listening on \(error.address)", cameBack: error.cameBack)
    }
}
