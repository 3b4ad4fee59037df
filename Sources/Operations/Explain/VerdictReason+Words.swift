import Push

extension VerdictReason {
    /// Whether the provider no longer knows the device, which then ends.
    var endsDevice: Bool {
        switch self {
        case .unregistered, .deviceNotRegistered, .expiredToken, .subscriptionGone: true
        default: false
        }
    }

    /// The reason in words, for readers who do not know the provider's own; `nil` if words would add nothing.
    var words: String? {
        switch self {
        case .unavailable, .internalError, .shutdown, .idleTimeout, .serverClosing, .temporarilyRefused, .expoError:
            "the provider reports an internal fault"
        case .quotaExceeded, .requestRate, .tooManyRequests: "the provider accepts no more at this rate"
        case .deviceRate, .messageRateExceeded: "this device gets more than the provider allows"
        case .unregistered, .deviceNotRegistered, .expiredToken, .subscriptionGone:
            "the provider no longer knows the device"
        case .invalidToken, .badDeviceToken, .missingDeviceToken: "the provider does not accept the device's token"
        case .senderIDMismatch, .mismatchedSender, .deviceTokenNotForTopic, .vapidMismatch:
            "the device registered with another app, project or key"
        case .subscriptionUnusable: "the browser's subscription has no valid keys"
        case .endpointRefused, .addressRefused: "the browser's push service is at an address that is not allowed"
        case .thirdPartyAuthError, .invalidCredentials:
            "the provider's own credentials for this kind of device are missing or wrong"
        case .permissionDenied, .forbidden, .topicDisallowed:
            "our account at the provider lacks the right, or the service is not enabled there"
        case .unauthenticated, .notAuthorized, .badCertificate, .badCertificateEnvironment, .expiredProviderToken,
            .invalidProviderToken, .missingProviderToken, .badEnvironmentKeyID, .unrelatedKeyID, .vapidRefused,
            .unknownVAPIDKey, .authenticationRefused, .tokenRefused:
            "the provider rejects our credentials"
        case .tooManyProviderTokenUpdates: "the provider has received new credentials too often"
        case .tokenUnavailable: "no access token could be fetched"
        case .notFound, .badTopic, .missingTopic: "the provider does not know our project or app"
        case .payloadTooLarge, .messageTooBig: "the message is too large for the provider"
        case .mailboxFull: "the mailbox is full"
        case .mailboxUnknown: "the mail server knows no such address"
        case .addressUnsupported: "the mail server does not accept an address of this form"
        case .serviceRefused: "the mail server rejects us as a whole"
        case .encryptionMissing: "the mail server offers no encryption"
        case .senderRefused: "the mail server does not accept our sender address"
        case .messageRefused, .refusedByPolicy: "the mail server rejects the message"
        case .invalidMessage, .invalidArgument, .badRequest, .badCollapseID, .badExpirationDate, .badMessageID,
            .badPriority, .invalidPushType, .payloadEmpty, .duplicateHeaders, .badPath, .methodNotAllowed,
            .developerError, .invalidRequest, .invalidOptions:
            "the provider rejects the message as malformed"
        case .timeout: "the provider did not answer in time"
        case .connect, .nameLookup: "the provider cannot be reached"
        case .tls, .certificate: "no secure connection to the provider is possible"
        case .connectionLost, .incompleteAnswer, .closed: "the connection to the provider was lost"
        case .redirected, .unexpectedStatus, .unexpectedAnswer, .protocolViolation:
            "the answer is not one that this provider gives"
        case .unspecifiedError, .providerError, .unsupportedPurpose, .wrongProvider, .cancelled, .library: nil
        }
    }
}
