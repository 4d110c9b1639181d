import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;

/** One TLS handshake with what this Java trusts by its own properties: TrustedByDefault.java PORT HOST. */
class TrustedByDefault {
  public static void main(String[] args) throws Exception {
    int port = Integer.parseInt(args[0]);
    var plain = new java.net.Socket("127.0.0.1", port);
    SSLSocket secure = (SSLSocket) SSLContext.getDefault().getSocketFactory().createSocket(plain, args[1], port, true);
    var parameters = secure.getSSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    secure.setSSLParameters(parameters);
    secure.startHandshake();
    System.out.println(new String(secure.getInputStream().readAllBytes()));
  }
}
