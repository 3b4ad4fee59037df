import BellhopRules

/// The content of an FCM error answer.
///
/// Every part may be missing, and the whole body may be an HTML page.
struct FCMErrorReport {
    /// The `google.rpc` code, such as `INVALID_ARGUMENT`.
    let status: String?
    /// FCM's own code, such as `UNREGISTERED`, at any position in `details`.
    let errorCode: String?
    /// Whether FCM rejects the token.
    let blamesToken: Bool
    /// Whether the exceeded limit is that of a single device.
    let blamesDeviceRate: Bool

    /// Whether FCM could not sign in at APNs or at a browser's push service; the second name is the older one.
    var blamesThirdParty: Bool {
        errorCode == "THIRD_PARTY_AUTH_ERROR" || errorCode == "APNS_AUTH_ERROR"
    }

    private static let parser = JSONParser(limits: .init(bytes: 1 << 20, depth: 32))

    init(body: [UInt8]) {
        let error = Self.parser.parse(body).value?["error"]
        let message = (error?["message"]?.string ?? "").lowercased()
        let details = error?["details"]?.array ?? []
        status = error?["status"]?.string
        errorCode = details.lazy.compactMap(Self.errorCode).first
        blamesToken = Self.callsTokenInvalid(message) || details.contains(where: Self.namesToken)
        blamesDeviceRate = message.contains("device message rate")
    }

    private static func errorCode(_ detail: JSONValue) -> String? {
        guard detail["@type"]?.string == "type.googleapis.com/google.firebase.fcm.v1.FcmError" else { return nil }
        return detail["errorCode"]?.string
    }

    /// Returns whether a text contains one of FCM's sentences for an invalid token; `text` is in lower case.
    private static func callsTokenInvalid(_ text: String) -> Bool {
        text.contains("not a valid fcm registration token") || text.contains("invalid registration token")
    }

    /// Returns whether a detail names the token.
    ///
    /// The field has its short name if the frame of the API is left out.
    private static func namesToken(_ detail: JSONValue) -> Bool {
        detail["fieldViolations"]?.array?.contains { violation in
            if let field = violation["field"]?.string, field == "message.token" || field == "token" { return true }
            return callsTokenInvalid(violation["description"]?.string?.lowercased() ?? "")
        } ?? false
    }
}

extension Result {
    /// The value of a success; `nil` for a failure.
    var value: Success? {
        guard case .success(let value) = self else { return nil }
        return value
    }
}
