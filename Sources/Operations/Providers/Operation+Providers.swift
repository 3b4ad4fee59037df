extension Operation {
    static let providers = [
        Operation(
            name: "providers",
            work: .reading { _, context in try await ProviderBoard(context).json }
        ),
        Operation(
            name: "provider-probe",
            fields: ["app", "provider"],
            work: .act { fields, consent, context in
                let probe = try await ProviderProbe(fields, in: context)
                try await probe.perform(by: try consent.required, in: context)
                return .done(probe.json)
            }
        ),
    ]
}
