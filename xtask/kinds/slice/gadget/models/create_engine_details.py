class CreateEngineDetails(object):

    def __init__(self, **kwargs):
        self.swagger_types = {
            'fuel': 'str',
            'name': 'str',
            'compartment_id': 'str',
        }
        self.attribute_map = {
            'fuel': 'fuel',
            'name': 'name',
            'compartment_id': 'compartmentId',
        }

    @staticmethod
    def get_subtype(object_dictionary):
        type = object_dictionary['fuel']
        if type == 'STEAM':
            return 'CreateSteamEngineDetails'
        if type == 'WIND':
            return 'CreateWindEngineDetails'
        else:
            return 'CreateEngineDetails'

    @property
    def fuel(self):
        """
        **[Required]** Gets the fuel.
        """
        return self._fuel

    @property
    def name(self):
        """
        **[Required]** Gets the name.
        It must be unique within the compartment.
        """
        return self._name

    @property
    def compartment_id(self):
        """
        **[Required]** Gets the compartment_id.
        """
        return self._compartment_id
