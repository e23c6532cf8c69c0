"use strict";

// Runs after the bundle: both are plain scripts at the end of the body.
SwaggerUIBundle({
  url: "/openapi.yaml",
  domNode: document.getElementById("reference"),
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  // Credentials live in the page for as long as it is open, and nowhere else.
  persistAuthorization: false,
  // The badge would send the address of this server to a public validator.
  validatorUrl: null,
  // A link must not be able to point this page at somebody else's document.
  queryConfigEnabled: false,
});
